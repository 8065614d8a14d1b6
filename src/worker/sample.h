/* SPDX-License-Identifier: MIT
 *
 * From a capture to a sample of a turn: stack, functions of scripts, and what the thread waits for. Worker.
 */
#ifndef HD_SAMPLE_H
#define HD_SAMPLE_H

#include "worker/worker.h"

/* The newest sample of the turn that the message is about. */
void hd_sample_add(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg,
                   const struct hd_capture *c);
/* Where the thread was when it gave no answer. */
void hd_sample_add_late(struct hd_worker *k, struct hd_turn *h, const struct hd_capture *c);
/* Our own stack, as a sample that is thrown away: the pages and tables that a hang needs are read then. */
void hd_sample_try(struct hd_worker *k, const struct hd_capture *c);

/* A capture's stack, into k->frames, with the functions of scripts. The number of its frames. */
uint32_t hd_sample_frames(struct hd_worker *k, hd_thread_id thread, const struct hd_capture *c,
                          struct hd_walk *walk);

/* A library may have gone, and another have come in its place: nothing else is certain then. `keep`: what has
 * samples in it, until they are published. */
void hd_sample_check_modules(struct hd_worker *k, bool keep);

#endif
