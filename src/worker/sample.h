/* SPDX-License-Identifier: MIT
 *
 * A job of the worker: a capture becomes a sample of the thread's turn. Worker.
 */
#ifndef HD_WORKER_SAMPLE_H
#define HD_WORKER_SAMPLE_H

#include "worker/state.h"

/* Adds the newest sample to the turn that the message is about. */
void hd_sample_add(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg,
                   const struct hd_capture *c);
/* The thread answers late: `c` says where it was, when samples got no answer. */
void hd_sample_add_late(struct hd_worker *worker, struct hd_turn *turn, const struct hd_capture *c);
/* Reads a stack of our own and drops it: pages and tables that the first hang needs are in memory then. */
void hd_sample_try(struct hd_worker *worker, const struct hd_capture *c);

#endif
