/* SPDX-License-Identifier: MIT
 *
 * The scheduling statistics of one thread at one instant. Equal statistics at two instants prove that the
 * thread did not run between them. On the monitor or worker thread: no allocation, no lock.
 */
#ifndef HD_THREAD_CLOCK_H
#define HD_THREAD_CLOCK_H

#include "base/types.h"
#include "capture/arch/thread_files.h"

enum hd_clock_proves {
    HD_CLOCK_NOTHING, /* the scheduling statistics are not available */
    /* equal scheduling statistics at two instants prove that the thread never ran between them */
    HD_CLOCK_REST,
    /* equal scheduling statistics at two instants prove only that the thread never left a CPU: it may have
     * run all the time */
    HD_CLOCK_LEAVING,
};

struct hd_thread_clock {
    struct hd_sched sched;
    enum hd_clock_proves proves;
    uint8_t state; /* enum hd_run_state at that instant; only Darwin's statistics have it */
};

/* hd_thread_clock_read and hd_thread_clock_sched return 0; -ESRCH if the thread has ended; or another
 * error. After an error, hd_sched_known is false for the stored statistics. On a kernel without schedstat,
 * cpu_ns comes from the thread's CPU clock, and delay_ns is 0. */
int hd_thread_clock_read(const struct hd_thread_files *f, struct hd_thread_clock *out);
int hd_thread_clock_sched(const struct hd_thread_files *f, struct hd_sched *out);

/* Opens the scheduling statistics of the calling thread, which is the monitor. On Linux the function also
 * passes the number of the process's seccomp filters to the signal handler. `calls_tried`: the runner has
 * tried the handler's system calls under these filters. The descriptor stays open: the kernel closes it when
 * the monitor ends. */
void hd_thread_clock_open_own(struct hd_thread_files *own, bool calls_tried);

static inline bool hd_thread_clock_same(const struct hd_sched *a, const struct hd_sched *b) {
    return a->slices == b->slices && a->cpu_ns == b->cpu_ns && a->delay_ns == b->delay_ns;
}

/* Returns true if, by its CPU clock, the thread has not run since `since` was read. The thread must have been
 * blocked at that time. This check takes a quarter of the time of hd_thread_clock_read.
 *
 * The result is good enough for a look, but proves nothing for a sample. The clock leaves out time that a
 * hypervisor or interrupts took, and may stop for microseconds (the kernel's update_rq_clock_task). */
bool hd_thread_clock_rests(const struct hd_thread_files *f, const struct hd_sched *since);

/* Brings sched->cpu_ns of a running thread up to this instant. The kernel updates the statistics only at
 * its clock tick, so they may be 10 ms old. Use the result only as the amount of CPU time. A proof that
 * the thread did not run must compare the statistics as the kernel gave them. */
void hd_thread_clock_refresh(const struct hd_thread_files *f, struct hd_sched *sched);

#endif
