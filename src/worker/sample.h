/* SPDX-License-Identifier: MIT
 *
 * Adds the monitor's captures to turns as samples. On the worker thread.
 */
#ifndef HD_WORKER_SAMPLE_H
#define HD_WORKER_SAMPLE_H

#include "worker/state.h"

/* Adds capture `c` to its turn, as the newest sample. `msg`: the message that came with the capture. */
void hd_sample_add(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg,
                   const struct hd_capture *c);
/* Call it when the thread has answered a request for its stack late. Gives the stack of `c` to each sample
 * that was taken since that request and has no stack. */
void hd_sample_add_late(struct hd_worker *worker, struct hd_turn *turn, const struct hd_capture *c);
/* Reads a dry sample and drops the result. This read makes present the memory that the first hang needs. */
void hd_sample_try(struct hd_worker *worker, const struct hd_capture *c);

#endif
