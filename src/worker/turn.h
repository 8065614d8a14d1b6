/* SPDX-License-Identifier: MIT
 *
 * Worker: a tracked turn, from its begin to its end: a hang if it was long. No allocation.
 */
#ifndef HD_TURN_H
#define HD_TURN_H

#include "worker/worker.h"

/* The turn that a message is about, NULL: it is not followed. And the turn that it begins; a fifth at the
 * same time is not followed, and only counted. */
struct hd_turn *hd_turn_find(struct hd_worker *k, const struct hd_message *msg);
struct hd_turn *hd_turn_begin(struct hd_worker *k, const struct hd_message *msg);
/* It is to be reported. Reports sort by their ids, and so by when hangs began: not before `from_wall_ns`. */
void hd_turn_open(struct hd_turn *h, uint64_t from_wall_ns);
void hd_turn_free(struct hd_turn *h);

/* The stack in k->frames, in the hang's tree; the pool always has room for it. Returns its leaf. */
uint32_t hd_turn_add_stack(struct hd_worker *k, struct hd_turn *h, uint32_t count, uint64_t at_ns);

/* A sample whose stack is in the tree: the one before it is settled. `excluded_ns`: taken off up to now. */
void hd_turn_add(struct hd_turn *h, const struct hd_last_sample *sample, uint64_t excluded_ns);

/* Whether a sample's stack is another one than the newest that is known, as it is from now on. One without an
 * answer says nothing. */
bool hd_turn_differs(struct hd_turn *h, const struct hd_last_sample *sample);

/* What the samples without an answer since answer->at_ns were about; its stack was just added to the tree. */
void hd_turn_answer(struct hd_turn *h, const struct hd_last_sample *answer);

/* The last sample stands until the turn's end, when the thread had these figures; NULL: they are not known.
 */
void hd_turn_settle(struct hd_turn *h, uint64_t at_ns, uint64_t excluded_ns, const struct hd_sched *sched);

#endif
