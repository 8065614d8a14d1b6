/* SPDX-License-Identifier: MIT
 *
 * Adds samples to a turn. Each is charged once the next sample, or the turn's end, says how long it counts.
 * On the worker thread.
 */
#ifndef HD_TURN_SAMPLES_H
#define HD_TURN_SAMPLES_H

#include "turn/turn.h"

/* Adds a sample whose stack is in the tree, and charges the sample before it. `excluded_ns`: time of stops so
 * far. */
void hd_samples_add(struct hd_turn *turn, const struct hd_sample *sample, uint64_t excluded_ns);

/* True: the sample's stack differs from the newest known stack. It is the newest known one from now on. A
 * sample without an answer has no stack to compare. */
bool hd_samples_differ(struct hd_turn *turn, const struct hd_sample *sample);

/* The thread answered late: gives this stack to all samples without an answer since answer->at_ns. The caller
 * has just added the stack to the tree. */
void hd_samples_answer(struct hd_turn *turn, const struct hd_sample *answer);

/* The turn ended at `at_ns`: charges the newest sample. Drops samples that were taken after this end.
 * `sched`: the thread's statistics at the end; NULL: not known. */
void hd_samples_settle(struct hd_turn *turn, uint64_t at_ns, uint64_t excluded_ns,
                       const struct hd_sched *sched);

/* Shrinks the times of tree and timeline to the turn's duration, in proportion; call it before each report. A
 * stop that is known late cannot always be subtracted from the samples that it was in. */
void hd_samples_limit(struct hd_turn *turn);

#endif
