/* SPDX-License-Identifier: MIT
 *
 * Adds samples to a turn. The time for which a sample counts is known only at the next sample, or at the
 * turn's end. Each sample is charged at that moment: its time is added to the call tree, the timeline and
 * the sums by cause. On the worker thread.
 */
#ifndef HD_TURN_SAMPLES_H
#define HD_TURN_SAMPLES_H

#include "turn/turn.h"

/* Adds a sample. Charges the sample before it: adds the time between the two samples to the call tree, the
 * timeline and the sums by cause. The stack of `sample` must be in the turn's call tree already.
 * `excluded_ns`: for how long the process was stopped since the turn's start. */
void hd_samples_add(struct hd_turn *turn, const struct hd_sample *sample, uint64_t excluded_ns);

/* Compares the sample's stack with the newest stack that is known, and stores the sample's stack as the
 * newest. True: the two differ, or no stack was known. If the thread gave no stack for this sample, does
 * nothing and returns false. */
bool hd_samples_differ(struct hd_turn *turn, const struct hd_sample *sample);

/* Call it when the thread has answered a request for its stack late. Gives this stack to all samples since
 * answer->at_ns that have no stack. The caller must have just added the stack to the turn's tree. */
void hd_samples_answer(struct hd_turn *turn, const struct hd_sample *answer);

/* The turn ended at `at_ns`: charges the newest sample for the time until the end. If samples were taken
 * after `at_ns`, removes those samples instead. `sched`: the thread's scheduling statistics at the end;
 * NULL: not known. */
void hd_samples_settle(struct hd_turn *turn, uint64_t at_ns, uint64_t excluded_ns,
                       const struct hd_sched *sched);

/* Call it before each report. If the times in the tree and the timeline exceed the turn's duration, scales
 * them down in proportion. The times exceed the duration if a stop of the process became known too late to be
 * subtracted from the samples. */
void hd_samples_limit(struct hd_turn *turn);

#endif
