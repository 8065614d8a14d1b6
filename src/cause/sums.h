/* SPDX-License-Identifier: MIT
 *
 * The time of a turn by cause, with the evidence that has most of it. Plain values: one thread writes them,
 * the worker. Zeros are valid sums of nothing.
 */
#ifndef HD_SUMS_H
#define HD_SUMS_H

#include "base/words.h"
#include "cause/evidence.h"

/* The wait that a sentence about a kind names. A majority vote by time (Boyer-Moore) finds the candidate, so
 * that no list of waits is necessary. */
struct hd_cause_best {
    uint64_t lead_ns;     /* the candidate's time less the time of other waits */
    uint64_t since_ns;    /* the candidate's time since the vote took it */
    uint64_t who_ns;      /* of the owner or the child in `probe`: the owner's lead, the child's time */
    uint64_t newest_ns;   /* of the newest child: its time without a break */
    int32_t newest_child; /* pid */
    bool several;         /* other owners, or other children, had a part of the time */
    struct hd_probe probe;
};

struct hd_cause_sums {
    uint64_t ns[HD_CAUSE_KINDS];     /* each kind's time */
    uint64_t ran_ns[HD_CAUSE_KINDS]; /* the part of ns[HD_CAUSE_CPU] in code of each kind */
    uint64_t total_ns;
    uint64_t delay_ns;     /* the thread waited for a CPU */
    uint64_t assumed_ns;   /* the part of ns[HD_CAUSE_CPU] that no scheduling statistics confirm yet */
    uint64_t throttled_ns; /* the group's quota was used up; the caller sets it before hd_cause_decide */
    struct hd_probe call;  /* the newest blocked sample; for_ns is 0: none yet */
    uint8_t collector;     /* enum hd_collector: the newest that ran */
    /* The thread that had the lock when the hang opened; the caller sets it before hd_cause_decide. */
    struct {
        int32_t tid, syscall_nr;
        char name[16];
        const char *path; /* the file of the owner's call; NULL: none */
    } owner;
    struct hd_cause_best best[HD_CAUSE_KINDS];
};

static inline uint64_t hd_cause_ran_ns(const struct hd_cause_sums *s, enum hd_cause_kind kind) {
    return s->ran_ns[kind] < s->ns[HD_CAUSE_CPU] ? s->ran_ns[kind] : s->ns[HD_CAUSE_CPU];
}

/* The time in which a garbage collector ran, or waited for threads of its own. */
static inline uint64_t hd_cause_collected_ns(const struct hd_cause_sums *s) {
    return hd_cause_ran_ns(s, HD_CAUSE_GC) + s->ns[HD_CAUSE_GC];
}

#endif
