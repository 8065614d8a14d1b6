/* SPDX-License-Identifier: MIT
 *
 * One run, from start to stop: the state that the program's threads, the monitor and the worker share. It is
 * in one mapping, which the kernel wipes in forked children. During a hang neither the monitor nor the worker
 * allocates, or takes a lock that the watched thread may have taken.
 */
#ifndef HD_RUN_H
#define HD_RUN_H

#include "watch/background.h"
#include "watch/clock.h"
#include "watch/events.h"
#include "watch/live_request.h"
#include "watch/message.h"
#include "watch/ports.h"
#include "watch/ring.h"
#include "watch/settings.h"
#include "watch/watch.h"

#define HD_CALL_NS \
    (90 * HD_NS_PER_MS) /* how long one call waits in all: for other calls, then for our threads */
#define HD_READY_NS                                                                        \
    (20 * HD_NS_PER_MS) /* how long a call waits until our threads have opened their files \
                         */

enum hd_run_thread {
    HD_RUN_MONITOR,
    HD_RUN_WORKER,
    HD_RUN_THREADS
};

/* How the run ends. */
struct hd_channel_stop {
    _Atomic bool requested;       /* by the program; by the monitor where our threads end (ports.exceeds) */
    _Atomic bool at_exit;         /* the process ends */
    _Atomic bool watches_closed;  /* the monitor closes no watch from here on, not even one that is NEW */
    _Atomic bool worker_left;     /* the stop did not wait for the worker's end */
    _Atomic uint32_t worker_done; /* a futex word: 1 once the worker has finished */
};

/* The program's own state, set by the API. */
struct hd_channel_program {
    _Atomic uint32_t state;  /* hangdog_state */
    _Atomic uint32_t paused; /* depth of hangdog_pause */
    struct hd_background background;
    _Atomic bool limits_changed; /* thresholds or the interval; the monitor clears it */
};

/* Our threads. */
struct hd_channel_threads {
    _Atomic hd_thread_id monitor, worker;
    uint8_t count;          /* how many start */
    _Atomic uint32_t ready; /* how many have opened their files; a futex word */
};

/* Requests that our threads follow the main thread's credentials (watch/follow.h). */
struct hd_channel_follow {
    _Atomic uint32_t requests; /* so far */
    /* The newest request that each has answered, times two, plus one where it has more rights still. Futex
     * words. */
    _Atomic uint32_t answered[HD_RUN_THREADS];
};

/* The words and messages between threads. */
struct hd_channel {
    _Atomic uint32_t wake;        /* the monitor's futex word: any thread adds one and wakes it */
    _Atomic uint32_t worker_wake; /* the worker's: the monitor adds one */
    struct hd_channel_stop stop;
    struct hd_channel_program program;
    struct hd_channel_threads threads;
    struct hd_channel_follow follow;

    /* The worker; the monitor reads them. */
    _Atomic uint64_t worker_cpu_ns;
    _Atomic uint64_t open_start_ns;  /* of the turn whose open hang the record has */
    _Atomic uint32_t open_loop;      /* and the index of the watch */
    _Atomic int kept_fd;             /* settings.kept_file in the worker's descriptor table: number + 1 */
    _Atomic hd_thread_id cpu_thread; /* the thread that the CPU monitor samples, or none */

    struct hd_live_request live;
    struct hd_events events;
    struct hd_ring ring;
};

/* The order matters: a next start zeroes all up to a member of `watches`, and nothing from there on. */
struct hd_run {
    struct hd_settings settings;
    struct hd_ports ports;
    struct hd_record *record;
    bool ticks_are_tsc;
    struct hd_clock clock; /* the monitor's */
    struct hd_channel channel;
    struct hd_watch_table watches;
    _Atomic uint32_t alive; /* 0 in a forked child */
};

/* Where a run is, at the start of a page. `hangdog top` reads it from another process, and refuses a run
 * whose structs have other sizes than its own. */
struct hd_run_place {
    uint64_t magic;
    uint64_t run; /* its address */
    uint32_t run_bytes, watch_bytes;
};
#define HD_RUN_MAGIC 0x48414e47524e4701ULL /* "HANGRNG", version 1 */

/* ---- which run there is --------------------------------------------------------------------- */

enum hd_run_phase {
    HD_PHASE_STOPPED,
    HD_PHASE_CHANGING,
    HD_PHASE_RUNNING
};

/* The run of this process; NULL: there is none, or one starts or stops. Any thread; async-signal-safe. */
struct hd_run *hd_run_current(void);
/* The last run, also when it is over: its memory stays. NULL: there was none. */
struct hd_run *hd_run_last(void);
void hd_run_set(struct hd_run *r);
/* False in a forked child, which finds the memory wiped. Makes no system call: the child may be under a
 * seccomp filter. */
bool hd_run_is_alive(void);

/* Waits until no other thread starts or stops a run, and lets the calling thread do so. Returns the phase
 * that was; -EBUSY where another thread still does so at `until_ns`; -EALREADY where this is a start and
 * there is a run. */
int hd_run_start_change(bool starts, uint64_t until_ns);
void hd_run_end_change(enum hd_run_phase now);

/* Whether this run is the process's run, and no thread stops it. */
bool hd_run_has(const struct hd_run *r);
/* Waits until no thread starts or stops a run. */
void hd_run_wait_changed(uint64_t until_ns);

/* ---- waking and waiting --------------------------------------------------------------------- */

/* Wakes the monitor. Any thread; async-signal-safe. */
void hd_run_wake(struct hd_run *r);
/* Waits until our threads have their own descriptor tables and open files, at most HD_READY_NS. A program may
 * change its root or give up rights as its first act, and our threads could not open their files then. */
void hd_run_wait_ready(struct hd_run *r, uint64_t until_ns);
/* One of our threads has its table and its files. */
void hd_run_is_ready(struct hd_run *r);

#endif
