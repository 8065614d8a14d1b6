/* SPDX-License-Identifier: MIT
 *
 * The activity and the stack of one thread of a live report as text. Ordinary code.
 */
#ifndef CLI_LIVE_THREAD_TEXT_H
#define CLI_LIVE_THREAD_TEXT_H

#include "cli/render/render_parts.h"

#define THREAD_TEXT_CPU_LEAST 0.5 /* percent; a smaller share would be printed as 0 */

/* Prints the activity of a thread, without numbers: "waits for 10.0.0.5:5432 in poll", "runs". */
void thread_text_state(FILE *out, const json_t *thread);
/* Prints the frames of a stack, one for each line. Adds the number of hidden frames to `hidden`. */
void thread_text_stack(FILE *out, const json_t *report, const json_t *stack, const struct render_options *o,
                       size_t *hidden);

#endif
