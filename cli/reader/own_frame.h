/* SPDX-License-Identifier: MIT
 *
 * The frame that stands for a hang: the user's own function.
 */
#ifndef CLI_OWN_FRAME_H
#define CLI_OWN_FRAME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The frame of the hot stack that represents the hang. Preferred in this order: a script, the program's own
 * code, code outside of system libraries and headers, any code. Among equals: a frame with a name, then one
 * with half of the time, then the innermost. A plug-in's function comes before the program's function that
 * calls it. If the program's functions only call the loop, or are a main without lines: the innermost named
 * library function with half of the time. NULL: no hot stack. Borrowed. */
json_t *report_own_frame(const json_t *report);
/* The same among the frames of another stack of the report. */
json_t *report_own_frame_of(const json_t *report, const json_t *frames);

/* True: a named library function that can represent a hang. Not one of the C library, an interpreter or a
 * header, and not a mere wrapper. */
bool report_frame_is_librarys(const json_t *report, const json_t *frame);
/* A script's way into a library: libffi, and the module that calls it. The library's function is further in.
 */
bool report_frame_is_ffi(const json_t *report, const json_t *frame);
/* The same, or GObject's: it calls what its caller names. */
bool report_frame_is_glue(const json_t *report, const json_t *frame);
/* Index of the innermost frame that runs an event loop; the number of frames: none. */
size_t report_loop_of(const json_t *frames);

/* True: a module that the program loads as a plug-in. Any module outside of system folders counts; with
 * `systems` also one in a system folder of plug-ins. */
bool report_frame_is_plugin(const json_t *report, const json_t *frame, bool systems);

#endif
