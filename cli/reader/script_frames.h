/* SPDX-License-Identifier: MIT
 *
 * Frames of scripts: code that an interpreter runs, or makes as it runs. Ordinary code.
 */
#ifndef CLI_SCRIPT_FRAMES_H
#define CLI_SCRIPT_FRAMES_H

#include <jansson.h>
#include <sys/types.h>

/* Names the frames of code that was made at run time from the map that the process wrote, if it is to be
 * trusted: its owner is `owner`, the report's, or root. Then what is one function is one in the call tree
 * and in the hot stack too. Why a map is not read is added to `notes`. Returns whether one was read. */
int script_frames_name(json_t *report, uid_t owner, json_t *notes);

/* For a report with all its symbols: how to get the names of scripts' functions that have none, in a line of
 * `notes`. `mapped`: a map was read. */
void script_frames_hint(const json_t *report, int mapped, json_t *notes);

/* The language of a frame that is a script's function, NULL of any other. Borrowed. */
const char *script_frame_language(const json_t *frame);

/* True when the function is of the interpreter's own library, as far as its file's name tells. */
int script_frame_is_system(const json_t *frame);

#endif
