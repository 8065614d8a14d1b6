/* SPDX-License-Identifier: MIT
 *
 * The sums of a turn: the time of each cause, and for each cause the wait that has most of that time. Plain
 * values, which only the worker writes. A zeroed struct is valid, and has no time.
 */
#ifndef HD_SUMS_H
#define HD_SUMS_H

#include "base/words.h"
#include "cause/evidence.h"

/* The wait that the sentence of a cause names. A majority vote by time (Boyer-Moore) finds the wait, so that
 * no list of waits is necessary. The wait that leads at present is the candidate; `probe` is a sample of that
 * wait. */
struct hd_cause_best {
    uint64_t lead_ns;  /* the candidate's time minus the time of other waits */
    uint64_t since_ns; /* the candidate's time since the wait became the candidate */
    /* For a lock: the time of the owner in `probe` minus the time of other owners. For a child: the time
     * of the child in `probe`. */
    uint64_t who_ns;
    uint64_t newest_ns;   /* the time that the thread has waited for `newest_child` without a break */
    int32_t newest_child; /* process id of the child that the newest sample shows */
    bool several;         /* true: other owners of the lock, or other children, had a part of the time */
    struct hd_probe probe;
};

struct hd_cause_sums {
    uint64_t ns[HD_CAUSE_KINDS]; /* the time of each cause */
    /* for each cause, the part of ns[HD_CAUSE_CPU] in which code of that cause ran */
    uint64_t ran_ns[HD_CAUSE_KINDS];
    uint64_t total_ns;
    uint64_t delay_ns; /* the time that the thread waited for a CPU */
    /* The part of ns[HD_CAUSE_CPU] that the kernel's scheduling statistics do not confirm yet. */
    uint64_t assumed_ns;
    /* The time in which the control group had used up its CPU quota. The caller sets it before
     * hd_cause_decide. */
    uint64_t throttled_ns;
    /* The newest sample of the blocked thread that shows its call; call.for_ns is 0 until there is such a
     * sample. */
    struct hd_probe call;
    uint8_t collector; /* enum hd_collector: the garbage collector that ran last */
    /* The thread that had the lock when the turn became a hang. The caller sets it before hd_cause_decide. */
    struct {
        int32_t tid, syscall_nr;
        char name[16];
        const char *path; /* the file that the owner's system call works on; NULL: none */
    } owner;
    struct hd_cause_best best[HD_CAUSE_KINDS];
};

static inline uint64_t hd_cause_ran_ns(const struct hd_cause_sums *s, enum hd_cause_kind kind) {
    return s->ran_ns[kind] < s->ns[HD_CAUSE_CPU] ? s->ran_ns[kind] : s->ns[HD_CAUSE_CPU];
}

/* The time in which a garbage collector ran, or waited for its helper threads. */
static inline uint64_t hd_cause_collected_ns(const struct hd_cause_sums *s) {
    return hd_cause_ran_ns(s, HD_CAUSE_GC) + s->ns[HD_CAUSE_GC];
}

#endif
