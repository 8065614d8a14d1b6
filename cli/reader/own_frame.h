/* SPDX-License-Identifier: MIT
 *
 * The frame that stands for a hang: the user's own function.
 */
#ifndef CLI_OWN_FRAME_H
#define CLI_OWN_FRAME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The frame of the hot stack that stands for the hang: of a script, else of the program's own code, else
 * outside of the system's libraries and headers, else any; one with a name, if there is one, and with half of
 * the time; of those the innermost. A plug-in's function comes before the program's that calls it. Where the
 * program's functions only call the loop, or are a main without lines: the innermost function of a library
 * that has a name and half of the time. NULL: no hot stack. Borrowed. */
json_t *report_own_frame(const json_t *report);
/* The same among the frames of another stack of the report. */
json_t *report_own_frame_of(const json_t *report, const json_t *frames);

/* A named function of a library that may stand for a hang: not of the C library, of an interpreter, of a
 * header, or what only passes calls on. */
bool report_frame_is_librarys(const json_t *report, const json_t *frame);
/* Index of the innermost frame that turns a loop; the number of frames: none does. */
size_t report_loop_of(const json_t *frames);

/* Of a module that the program loads by its own choice: of its own folders any, of the system's one in a
 * folder of plug-ins where `systems`. */
bool report_frame_is_plugin(const json_t *report, const json_t *frame, bool systems);

#endif
