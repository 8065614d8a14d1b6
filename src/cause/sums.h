/* SPDX-License-Identifier: MIT
 *
 * The sums of a turn: the time of each cause, and for each cause the blocked call that has most of that time.
 * Only the worker writes these sums. A struct hd_cause_sums of zeros is valid, and stands for no time.
 */
#ifndef HD_SUMS_H
#define HD_SUMS_H

#include "base/words.h"
#include "cause/evidence.h"

/* The blocked call that the sentence of a cause names. A majority vote by time (Boyer-Moore) finds the call,
 * so that no list of calls is necessary. `probe` is a sample of the call that leads the vote at present. */
struct hd_cause_best {
    uint64_t lead_ns;  /* by how much the time of the blocked call in `probe` leads the time of other calls */
    uint64_t since_ns; /* the time of the blocked call in `probe` since that call took the lead */
    /* For a lock: by how much the time of the owner in `probe` leads the time of the lock's other owners. For
     * a child: the time that the thread waited for the child in `probe` without a break. */
    uint64_t who_ns;
    uint64_t newest_ns;   /* the time that the thread has waited for `newest_child` without a break */
    int32_t newest_child; /* process id of the child that the newest sample shows */
    /* true: the thread also waited for other owners of the lock, or for other children */
    bool several;
    bool several_parties; /* true: not all samples of the cause show the same other party */
    struct hd_probe probe;
};

struct hd_cause_sums {
    uint64_t ns[HD_CAUSE_KINDS]; /* the part of the turn's time that each cause took */
    /* for each cause, the part of ns[HD_CAUSE_CPU] in which code ran that shows the cause, such as a
     * toolkit's */
    uint64_t ran_ns[HD_CAUSE_KINDS];
    uint64_t total_ns;
    uint64_t delay_ns; /* the time that the thread waited for a CPU */
    /* The part of ns[HD_CAUSE_CPU] that the kernel's scheduling statistics do not yet confirm as CPU time. */
    uint64_t assumed_ns;
    /* For how long the kernel throttled the process's control group while Hangdog tracked the turn, because
     * the group's CPU quota was used up. The caller sets throttled_ns before hd_cause_decide. */
    uint64_t throttled_ns;
    /* The newest sample of the blocked thread that shows the thread's system call. Until the first such
     * sample, call.for_ns is 0. */
    struct hd_probe call;
    uint8_t collector; /* enum hd_collector: the garbage collector that ran last */
    /* The thread that had the awaited lock when the turn became a hang. The caller sets `owner` before
     * hd_cause_decide. */
    struct {
        hd_thread_id thread;
        int32_t syscall_nr;
        char name[16];
        const char *path; /* the file that the owner's system call works on; NULL: none */
    } owner;
    struct hd_cause_best best[HD_CAUSE_KINDS];
};

static inline uint64_t hd_cause_ran_ns(const struct hd_cause_sums *s, enum hd_cause_kind kind) {
    return s->ran_ns[kind] < s->ns[HD_CAUSE_CPU] ? s->ran_ns[kind] : s->ns[HD_CAUSE_CPU];
}

/* Returns the time in which a garbage collector ran, or waited for its helper threads. */
static inline uint64_t hd_cause_collected_ns(const struct hd_cause_sums *s) {
    return hd_cause_ran_ns(s, HD_CAUSE_GC) + s->ns[HD_CAUSE_GC];
}

#endif
