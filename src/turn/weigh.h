/* SPDX-License-Identifier: MIT
 *
 * From the evidence of a sample to the sums of the cause. Worker.
 */
#ifndef HD_TURN_WEIGH_H
#define HD_TURN_WEIGH_H

#include "turn/turn.h"

/* The time that a sample is charged for. */
struct hd_weigh_span {
    uint64_t ns;
    uint64_t covered_ns;         /* its end, over which the statistics grew from `from` to `to` */
    const struct hd_sched *from; /* NULL: not known */
    const struct hd_sched *to;   /* NULL: not known */
    uint8_t end_state;           /* enum hd_run_state of the thread at its end */
};

/* Adds evidence to the sums; writes the times in it. */
void hd_weigh_evidence(struct hd_turn_samples *s, struct hd_probe *evidence,
                       const struct hd_weigh_span *span);

/* Charges between_ns to what a sample nearby found the thread blocked on. Without such a sample the time
 * belongs to no kind of cause. */
void hd_weigh_between(struct hd_turn_samples *s);

static inline bool hd_weigh_is_running(uint8_t state) {
    return state == HD_RUN_RUNNING || state == HD_RUN_RUNNABLE;
}

static inline bool hd_weigh_is_blocked(uint8_t state) {
    return state == HD_RUN_BLOCKED || state == HD_RUN_UNINTERRUPTIBLE;
}

#endif
