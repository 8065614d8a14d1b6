/* SPDX-License-Identifier: MIT
 *
 * A job of the worker: a capture becomes a sample of the thread's turn. On the worker thread.
 */
#ifndef HD_WORKER_SAMPLE_H
#define HD_WORKER_SAMPLE_H

#include "worker/state.h"

/* Adds the newest sample to the turn that the message is about. */
void hd_sample_add(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg,
                   const struct hd_capture *c);
/* The thread answered late. `c` is its stack at the time when samples got no answer. */
void hd_sample_add_late(struct hd_worker *worker, struct hd_turn *turn, const struct hd_capture *c);
/* Reads a stack of our own and drops it: what the first hang needs is then in memory. */
void hd_sample_try(struct hd_worker *worker, const struct hd_capture *c);

#endif
