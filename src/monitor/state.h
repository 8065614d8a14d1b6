/* SPDX-License-Identifier: MIT
 *
 * The monitor's memory: of its own work in struct hd_monitor, of each loop in struct hd_look_state. The
 * monitor is the one thread that reads and writes both. All zeros is the state before the start.
 */
#ifndef HD_MONITOR_STATE_H
#define HD_MONITOR_STATE_H

#include "detect/cpu_use.h"
#include "detect/turn_state.h"
#include "monitor/budget.h"
#include "watch/run.h"

#define HD_NEVER UINT64_MAX /* as a time */

/* ---- one loop ------------------------------------------------------------------------------- */

/* The running turn as the monitor first saw it, and the looks since then. */
struct hd_first_seen {
    uint64_t start_ticks; /* which turn it is */
    uint64_t at_ns;
    struct hd_sched sched;
    bool sched_known;
    uint64_t late_max_ns; /* of the looks */
};

/* The loop's thread at the last look or sample. */
struct hd_loop_thread {
    struct hd_sched sched;
    bool sched_known;
    bool blocked;         /* as the last sample found it */
    uint32_t stack_bytes; /* of the last sample that had a stack */
};

/* The recogniser's findings about the loop, as far as the monitor has applied them. */
struct hd_findings {
    uint64_t resumed, waited_to; /* the members of struct hd_loop with these names */
    uint32_t changes;
    uint64_t start_min_ns; /* no turn starts before: until then the loop waited, or was not known */
};

/* How much of the ring a turn's samples leave to other turns. */
struct hd_ring_share {
    uint64_t start_ticks; /* of that turn */
    uint32_t keep_free;   /* bytes */
};

/* The loop's time, in sums. */
struct hd_loop_sums {
    uint64_t busy_ns, idle_ns;
    uint64_t until_ns;     /* both are of the time up to here */
    uint64_t ticks;        /* busy_ns has so many of the loop's busy ticks */
    uint64_t last_busy_ns; /* busy in the last sum that had turns, by the counter */
    uint64_t stopped_ns;   /* of the record's stopped_ns: subtracted here, or older than the watch */
    uint64_t pause_max_ns; /* longest pause of earlier turns; the target has that of the running turn */
};

/* One loop, from one look to the next. */
struct hd_look_state {
    struct hd_watch *watch;
    struct hd_target target;     /* its thread, for src/capture */
    struct hd_turn_state turn;   /* the running turn, for src/detect */
    hangdog_state program_state; /* in which the running turn was last looked at */
    struct hd_first_seen first;
    struct hd_loop_thread thread;
    struct hd_findings findings;
    struct hd_ring_share ring;
    struct hd_loop_sums sums;
    bool launched;          /* the loop was idle once */
    bool followed;          /* the worker follows the running turn */
    bool certain_sent;      /* the worker knows that the loop is certain */
    uint64_t tracked_ticks; /* the turn whose end the loop is to store (HD_FLAG_TRACKED); 0: none */
    uint64_t next_ns;       /* when to look at it next */
};

/* ---- the thread ----------------------------------------------------------------------------- */

/* The look that the monitor is at: all loops, one after the other. */
struct hd_this_look {
    uint64_t now_ns;       /* when it started */
    uint64_t late_ns;      /* by how much later than planned */
    uint64_t own_delay_ns; /* so much of that the monitor itself waited, for a CPU or for answers */
    uint64_t napped_ns;    /* hd_capture_napped_ns as it started */
};

/* Why looks are late (monitor/lateness.c). */
struct hd_lateness {
    uint64_t planned_ns; /* when the next look is due; 0: there was none yet */
    uint64_t max_ns;
    uint64_t overtime_ns; /* the last look waited so long for answers, and made the next one late */
    int schedstat_fd;     /* the monitor's own */
    struct hd_sched sched;
    uint64_t unread_ns; /* sum of lateness since `sched` was read */
    uint64_t read_ns;   /* when it was, but for reads at a late look */
};

/* How the monitor sleeps until a loop runs (monitor/park.c). */
struct hd_parking {
    uint64_t requested_ns;   /* since when the loops are to wake us (HD_FLAG_PARKED); 0: they are not */
    uint64_t awake_until_ns; /* no park before */
    bool was_parked;         /* the last wait was a park */
};

/* The worker's part of the ring, as the monitor needs it. */
struct hd_ring_use {
    uint32_t followed;       /* turns whose start was sent and whose end was not */
    uint64_t in_place_until; /* the worker has the buffer of a signalled thread's stack until it has read
                                the ring up to here */
    uint64_t woken_until;    /* the end of the last sample that the worker was woken for */
    uint64_t woken_ns;
};

/* Watching, as the program pauses and resumes it. */
struct hd_watch_pause {
    bool lasts;
    uint64_t ended_ns; /* turns that were running then count from here */
};

struct hd_keep_alive {
    int fd;        /* the service manager's socket; negative: there is none */
    bool withheld; /* a loop hangs */
    uint64_t next_ns;
};

/* Sums that outlive a watch. */
struct hd_totals {
    uint64_t histogram[HD_TURN_HISTOGRAM], busy_ns, idle_ns;
    uint64_t frames, frames_dropped, frame_ns, hitch_ns, frame_histogram[HD_FRAME_BUCKETS];
    struct hd_capture_cost cost;
};

struct hd_monitor {
    struct hd_run *run;
    uint64_t look_ns; /* distance of looks at loops that run: a sampling interval, or less */
    struct hd_this_look now;
    uint64_t looked_ns; /* when the look before started; after a look: this one */
    struct hd_watch_pause pause;
    struct hd_lateness late;
    struct hd_parking park;
    struct hd_ring_use ring;
    struct hd_budget budget;
    struct hd_totals ended; /* of watches that are over */
    uint64_t published_ns;  /* when the sums were last put into the record */
    struct hd_cpu_use cpu;
    struct hd_keep_alive keep_alive;
    /* of the watches of the first block; behind each further block of watches are theirs */
    struct hd_look_state look[HD_BLOCK_LOOPS];
};

/* The monitor's memory of this watch's loop. */
struct hd_look_state *hd_monitor_look_state(struct hd_monitor *m, struct hd_watch *w);

/* The program stops the run. */
static inline bool hd_monitor_is_stopping(const struct hd_monitor *m) {
    return atomic_load_explicit(&m->run->channel.stop.requested, memory_order_acquire);
}

/* The time that a mark would store now. */
static inline uint64_t hd_monitor_ticks(const struct hd_monitor *m) {
    return m->run->ticks_are_tsc ? hd_ticks_read() : hd_os_now_ns();
}

/* The clock as the counter had this value. */
uint64_t hd_monitor_ticks_to_ns(const struct hd_monitor *m, uint64_t ticks);

#endif
