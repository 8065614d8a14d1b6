/* SPDX-License-Identifier: MIT
 *
 * Scheduling statistics of one thread, read at one instant. Equal statistics at two instants prove that the
 * thread did not run between them. Monitor or worker: no allocation, no lock.
 */
#ifndef HD_THREAD_CLOCK_H
#define HD_THREAD_CLOCK_H

#include "base/types.h"
#include "capture/linux/thread_files.h"

enum hd_clock_proves {
    HD_CLOCK_NOTHING, /* the statistics are not available */
    HD_CLOCK_REST,    /* equal statistics prove that the thread never ran */
    HD_CLOCK_LEAVING, /* equal statistics prove only that the thread never left a CPU */
};

struct hd_thread_clock {
    struct hd_sched sched;
    enum hd_clock_proves proves;
};

/* 0; -ESRCH: the thread has ended; else the statistics are not available, and hd_sched_known says so.
 * A kernel without schedstat: the CPU time is the thread's clock, the delay reads as 0. */
int hd_thread_clock_read(const struct hd_thread_files *f, struct hd_thread_clock *out);
int hd_thread_clock_sched(const struct hd_thread_files *f, struct hd_sched *out);

static inline bool hd_thread_clock_same(const struct hd_sched *a, const struct hd_sched *b) {
    return a->slices == b->slices && a->cpu_ns == b->cpu_ns && a->delay_ns == b->delay_ns;
}

/* True: by its CPU clock the thread has not run since `since`, when it was blocked. This costs a quarter of
 * hd_thread_clock_read. Good for a look, but no proof for a sample. The clock leaves out time that a
 * hypervisor or interrupts took, and may stand still for microseconds (the kernel's update_rq_clock_task). */
bool hd_thread_clock_rests(const struct hd_thread_files *f, const struct hd_sched *since);

/* Brings the CPU time of a running thread up to this instant; the kernel updates statistics only at its tick,
 * 10 ms at most. For weighing of time. A proof compares statistics as the kernel gave them. */
void hd_thread_clock_refresh(const struct hd_thread_files *f, struct hd_sched *sched);

#endif
