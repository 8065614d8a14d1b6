/* SPDX-License-Identifier: MIT
 *
 * The thread that keeps the time: what it alone knows. It looks at all loops, takes samples and sends
 * messages to the worker.
 */
#ifndef HD_MONITOR_H
#define HD_MONITOR_H

#include "detect/cpu_use.h"
#include "monitor/budget.h"
#include "watch/run.h"

struct hd_totals {
    uint64_t histogram[HD_TURN_HISTOGRAM], busy_ns, idle_ns;
    uint64_t frames, frames_dropped, frame_ns, hitch_ns, frame_histogram[HD_FRAME_BUCKETS];
    struct hd_capture_cost cost;
};

struct hd_monitor {
    struct hd_run *run;
    uint64_t look_ns; /* the monitor's: how far apart looks at loops that run are; an interval, or less */
    bool was_paused;
    uint64_t resumed_ns;
    uint64_t woken_ns;              /* when the worker was last woken */
    uint64_t published_ns;          /* figures in the record */
    uint64_t looked_ns, planned_ns; /* the last look, and when the next was due */
    struct hd_sched own_sched;      /* when it was last read */
    uint64_t unread_late_ns;        /* summed since then */
    uint64_t overtime_ns; /* that the last look took by waiting for answers, where it made this one late */
    uint64_t own_read_ns; /* when that was, but for reads that a late look made */
    int own_schedstat_fd;
    uint64_t late_max_ns;
    struct hd_budget budget;
    struct hd_totals ended;  /* of watches that are over */
    uint64_t wakes_since_ns; /* since when every loop is asked to wake us (PARKED); 0: they are not */
    uint64_t awake_until_ns; /* no park before */
    bool was_parked;         /* the last wait was a park */
    uint64_t wakeups;
    struct hd_cpu_use cpu;
    struct hd_keep_alive {
        int fd;        /* the service manager's socket; less than zero: none */
        bool withheld; /* a loop hangs */
        uint64_t next_ns;
    } keep_alive;
    uint32_t followed;       /* the monitor's: turns whose begin the worker was told, and not yet the end */
    uint64_t borrowed_until; /* the monitor's: the buffer of a running thread's stack is the worker's until
                            the ring was read up to here */
    uint64_t woken_until;    /* the same of the last sample that the worker was woken for */
};

/* The thread. `monitor`: a struct hd_monitor, zeroed but for run and look_ns. */
void *hd_monitor_run(void *monitor);

#endif
