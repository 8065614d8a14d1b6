/* SPDX-License-Identifier: MIT
 *
 * The memory of the monitor: struct hd_monitor for its own work, and struct hd_look_state for each loop.
 * Only the monitor reads and writes both. Before the start all members are zero.
 */
#ifndef HD_MONITOR_STATE_H
#define HD_MONITOR_STATE_H

#include "detect/cpu_use.h"
#include "detect/turn_state.h"
#include "monitor/budget.h"
#include "watch/run.h"

#define HD_NEVER UINT64_MAX /* a time that never comes */

/* ---- one loop ------------------------------------------------------------------------------- */

/* The findings of the monitor at its first look at the running turn; late_max_ns is about all looks at
 * this turn. */
struct hd_first_seen {
    uint64_t start_ticks; /* when the turn started, which identifies the turn */
    uint64_t at_ns;       /* when the monitor first saw the turn */
    struct hd_sched sched;
    bool sched_known;
    uint64_t late_max_ns; /* the most by which a look at this turn was late */
};

/* The loop's thread, as the last look or sample found it. */
struct hd_loop_thread {
    struct hd_sched sched;
    bool sched_known;
    bool blocked;         /* true: the last sample found the thread blocked */
    uint32_t stack_bytes; /* the stack's size in the last sample that had a stack */
};

/* The newest findings of the recogniser that the monitor has applied to the loop. */
struct hd_findings {
    uint64_t resumed, waited_to; /* copies of the members with the same names in struct hd_loop_found */
    uint32_t changes;
    /* no turn starts before this time, because the loop was waiting or not recognised until then */
    uint64_t start_min_ns;
};

/* How much of the ring the samples of a turn leave free for other turns. */
struct hd_ring_share {
    uint64_t start_ticks; /* when the turn of these samples started, which identifies the turn */
    uint32_t keep_free;   /* the number of bytes that stay free */
};

/* The sums of the loop's time. */
struct hd_loop_sums {
    uint64_t busy_ns, idle_ns;
    uint64_t until_ns; /* busy_ns and idle_ns cover the time from the watch's start up to this time */
    uint64_t ticks;    /* the number of the loop's busy ticks that busy_ns contains */
    /* the newest busy time that hd_totals_add has added, as the time-stamp counter measured it; a call
     * that adds no busy time leaves it unchanged */
    uint64_t last_busy_ns;
    /* the part of the record's stopped_ns that is already subtracted, or that is from before the watch's
     * start */
    uint64_t stopped_ns;
    /* the longest pause by a sample in earlier turns; target.cost has the longest one in the running turn */
    uint64_t pause_max_ns;
};

/* The monitor's memory of one loop, from one look to the next. */
struct hd_look_state {
    struct hd_watch *watch;
    struct hd_target target;     /* data of src/capture about the loop's thread */
    struct hd_turn_state turn;   /* data of src/detect about the running turn */
    hangdog_state program_state; /* the program's state at the last look in the running turn */
    struct hd_first_seen first;
    struct hd_loop_thread thread;
    struct hd_findings findings;
    struct hd_ring_share ring;
    struct hd_loop_sums sums;
    bool launched;     /* true once the loop was idle, which ends its launch */
    bool followed;     /* true: the worker follows the running turn */
    bool certain_sent; /* true: the worker knows that the loop is certain */
    /* the start of the turn whose end the loop is to store (HD_FLAG_TRACKED); 0: there is no such turn */
    uint64_t tracked_ticks;
    uint64_t next_ns; /* when to look at the loop next */
};

/* ---- the thread ----------------------------------------------------------------------------- */

/* The look that the monitor does now, at all loops one after the other. */
struct hd_this_look {
    uint64_t now_ns;  /* when the look started */
    uint64_t late_ns; /* how much later than planned the look started */
    /* the part of late_ns in which the monitor waited for a CPU or for answers of threads */
    uint64_t own_delay_ns;
    /* for how long all captures before this look had waited for threads' answers (hd_capture_napped_ns) */
    uint64_t napped_ns;
};

/* The reasons why looks are late (monitor/lateness.c). */
struct hd_lateness {
    uint64_t planned_ns; /* when the next look is due; 0: there was no look yet */
    uint64_t max_ns;     /* the greatest lateness of a look so far */
    /* for how long the last look waited for answers of threads, which makes the next look late */
    uint64_t overtime_ns;
    struct hd_thread_files own; /* the monitor's own thread; stays open until the monitor ends */
    struct hd_sched sched;      /* the monitor's scheduling statistics, as last read */
    uint64_t unread_ns;         /* the sum of lateness since `sched` was read */
    uint64_t read_ns;           /* when `sched` was last read at a look that was not late */
};

/* The state of parking, in which the monitor sleeps until a loop runs (monitor/park.c). */
struct hd_parking {
    uint64_t requested_ns;   /* when HD_FLAG_PARKED was set in all loops; 0: it is not set */
    uint64_t awake_until_ns; /* the monitor does not park before this time */
    bool was_parked;         /* true: the monitor's last sleep was a park */
};

/* Facts about the messages that the monitor has sent by the ring. */
struct hd_ring_use {
    /* the number of turns that the worker follows: the monitor has sent their start, but not their end yet */
    uint32_t followed;
    /* A position in the ring. Until the worker has read the ring up to it, the worker may still read a
     * signalled thread's copy of a stack. No other sample may overwrite that copy meanwhile. */
    uint64_t in_place_until;
    /* the end of the newest sample for which the monitor woke the worker, as a position in the ring */
    uint64_t woken_until;
    uint64_t woken_ns; /* when the worker was last woken */
};

/* A pause of watching, which the program starts by hangdog_pause. */
struct hd_watch_pause {
    bool lasts; /* true: watching is paused now */
    /* when the last pause ended; a turn that was running at that time counts only from that time */
    uint64_t ended_ns;
};

/* The looks at pools (monitor/pool_watch.c). */
struct hd_pool_watch {
    uint64_t marks;    /* a sum of all loops' marks, by which a later look sees that a loop has run */
    bool moved;        /* true: a loop has run since the last look at the pools */
    uint64_t moved_ns; /* when the monitor first saw that */
    uint64_t sent_ns;  /* when the last look was */
    uint32_t looks;
};

struct hd_keep_alive {
    int fd;           /* the service manager's socket; negative: there is none */
    bool withheld;    /* true: the monitor sends the service manager no message, because a loop hangs */
    uint64_t next_ns; /* when the next message to the service manager is due */
};

/* Sums over several watches. */
struct hd_totals {
    uint64_t histogram[HD_TURN_HISTOGRAM], busy_ns, idle_ns;
    uint64_t frames, frames_dropped, frame_ns, hitch_ns, frame_histogram[HD_FRAME_BUCKETS];
    struct hd_capture_cost cost;
};

struct hd_monitor {
    struct hd_run *run;
    uint64_t look_ns; /* the time between looks at loops that run: a sampling interval, or less */
    struct hd_this_look now;
    uint64_t looked_ns; /* when the last look started; set at the end of that look */
    struct hd_watch_pause pause;
    struct hd_lateness late;
    struct hd_parking park;
    struct hd_ring_use ring;
    struct hd_budget budget;
    struct hd_totals ended; /* the sums of watches that have ended */
    uint64_t published_ns;  /* when the sums were last stored in the record */
    struct hd_cpu_use cpu;
    struct hd_pool_watch pools;
    struct hd_keep_alive keep_alive;
    /* the memory for the loops of the first block of watches; each further block has this memory behind it
     * (watch/watch.h) */
    struct hd_look_state look[HD_BLOCK_LOOPS];
};

/* Returns the monitor's memory for the loop of this watch. */
struct hd_look_state *hd_monitor_look_state(struct hd_monitor *m, struct hd_watch *w);

/* Returns whether Hangdog is to stop. */
static inline bool hd_monitor_is_stopping(const struct hd_monitor *m) {
    return atomic_load_explicit(&m->run->channel.stop.requested, memory_order_acquire);
}

/* Returns the time that a mark would store now, in ticks. */
static inline uint64_t hd_monitor_ticks(const struct hd_monitor *m) {
    return m->run->ticks_are_tsc ? hd_ticks_read() : hd_os_now_ns();
}

/* Converts `ticks`, a time in the unit of marks, to CLOCK_MONOTONIC. */
uint64_t hd_monitor_ticks_to_ns(const struct hd_monitor *m, uint64_t ticks);

#endif
