/* SPDX-License-Identifier: MIT
 *
 * Frames of scripts: code that an interpreter runs or compiles. One thread.
 */
#ifndef CLI_SCRIPT_FRAMES_H
#define CLI_SCRIPT_FRAMES_H

#include <jansson.h>
#include <sys/types.h>

/* Names frames of JIT code from the perf map of the process. The map's owner must be `owner`, the report's,
 * or root. Then merges functions in the call tree and the hot stack. Adds to `notes` why a map is not used.
 * True: a map was read. */
int script_frames_name(json_t *report, uid_t owner, json_t *notes);

/* For a report with all its symbols: how to get the names of scripts' functions that have none, in a line of
 * `notes`. `mapped`: a map was read. */
void script_frames_hint(const json_t *report, int mapped, json_t *notes);

/* The language of a frame that is a script's function, NULL of any other. Borrowed. */
const char *script_frame_language(const json_t *frame);

/* True: the interpreter is exiting, and waits for threads or children that it does not end. */
int script_frames_at_exit(const json_t *frames);

/* True: the name of the source file shows that the function is of the interpreter's own library. */
int script_frame_is_system(const json_t *frame);

#endif
