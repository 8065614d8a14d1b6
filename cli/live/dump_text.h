/* SPDX-License-Identifier: MIT
 *
 * The threads of a live report as text for a person. Ordinary code.
 */
#ifndef CLI_LIVE_DUMP_TEXT_H
#define CLI_LIVE_DUMP_TEXT_H

#include "cli/render/render.h"

/* 0, or -1 with errno when `out` cannot be written. */
int dump_text(FILE *out, const json_t *report, const struct render_options *o);

/* Prints the activity of a thread: "waits for 10.0.0.5:5432 in poll". `brief`: for a running thread, only
 * that it runs. */
void dump_text_state(FILE *out, const json_t *thread, bool brief);
/* Prints the frames of a stack, one for each line. Adds the number of hidden frames to `hidden`. */
void dump_text_stack(FILE *out, const json_t *report, const json_t *stack, const struct render_options *o,
                     size_t *hidden);

/* "deadlock: 8354 -> 8371 -> 8354". Caller frees; NULL: no memory. */
char *dump_text_ring(const json_t *ring);

#endif
