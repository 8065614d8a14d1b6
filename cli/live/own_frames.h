/* SPDX-License-Identifier: MIT
 *
 * Which frames of a stack are the program's own, and what they called. Ordinary code.
 */
#ifndef CLI_LIVE_OWN_FRAMES_H
#define CLI_LIVE_OWN_FRAMES_H

#include <jansson.h>
#include <stddef.h>

struct own_frames {
    size_t count;
    const json_t **frame;  /* innermost first */
    const json_t *library; /* the outermost call of a library below the first; NULL: none is named */
};

/* At most `max` own ones; the innermost of all, where none is own; with SIZE_MAX all frames. */
void own_frames_choose(struct own_frames *own, const json_t *report, const json_t *frames, size_t max);
void own_frames_free(struct own_frames *own);

#endif
