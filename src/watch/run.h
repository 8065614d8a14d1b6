/* SPDX-License-Identifier: MIT
 *
 * One run, from start to stop: what the program's threads, the monitor and the worker share, in one mapping
 * that forked children find wiped. While a hang is on, neither the monitor nor the worker allocates, nor
 * takes a lock that the watched thread could hold.
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

/* How long one call may wait in all: for its turn, then for our threads. A worker that has not finished by
 * then is abandoned. */
#define HD_CALL_NS (90 * HD_NS_PER_MS)
#define HD_READY_NS (20 * HD_NS_PER_MS)

enum hd_run_thread {
    HD_RUN_MONITOR,
    HD_RUN_WORKER,
    HD_RUN_THREADS
};

/* The words by which threads wake each other, and the ring from monitor to worker. */
struct hd_channel {               /* ordered without holes: what a run maps is bounded */
    _Atomic uint32_t wake;        /* the monitor's futex word: any thread adds one and wakes */
    _Atomic uint32_t worker_wake; /* the worker's: the monitor adds one */
    _Atomic bool stopping;
    _Atomic bool leaving;         /* the process ends */
    _Atomic bool closed;          /* the last look at all watches: one that is NEW later has come too late */
    _Atomic bool worker_left;     /* it had not finished, and is not waited for */
    _Atomic uint32_t worker_done; /* futex word: 1 once the worker has finished */
    _Atomic uint32_t state;       /* hangdog_state as the program told it */
    _Atomic uint32_t follow_number; /* requests to follow the main thread's rights (watch/follow.h) so far */
    struct hd_background background;
    _Atomic uint32_t paused;     /* depth */
    _Atomic bool limits_changed; /* for the monitor: thresholds or the interval are others */
    uint8_t threads;             /* of ours that start */
    /* the newest request that each has answered, times two, and one more where it has more rights still:
     * futex words */
    _Atomic uint32_t followed[HD_RUN_THREADS];
    _Atomic uint64_t worker_cpu_ns;
    _Atomic uint32_t ready;          /* our threads that have opened what they keep; a futex word */
    _Atomic uint32_t open_loop;      /* the worker's: whose hang the record has, while it has one */
    _Atomic uint64_t open_start_ns;  /* and which of its turns */
    _Atomic hd_thread_id cpu_thread; /* the worker's: the thread that the CPU monitor samples, or none */
    _Atomic hd_thread_id monitor_thread, worker_thread;
    _Atomic int kept_fd; /* settings.kept_file in the worker's table: number + 1 */
    struct hd_live_request live;
    struct hd_events events;
    struct hd_ring ring;
};

struct hd_run {
    struct hd_settings settings;
    struct hd_ports ports;
    struct hd_record *record;
    bool ticks_are_tsc;
    struct hd_clock clock; /* the monitor's */
    struct hd_channel channel;
    struct hd_watch_table watches; /* its end, and all that follows, the next run keeps */
    _Atomic uint32_t alive;        /* 0 in a forked child */
};

/* Where a run is, at the beginning of a page: for who reads it from another process (`hangdog top`), which
 * knows this version of both structs alone. */
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

/* The run of this process; NULL: none, or a start or stop goes on. Any thread; async-signal-safe. */
struct hd_run *hd_run_current(void);
/* The same also of a run that is over, for its memory. */
struct hd_run *hd_run_last(void);
void hd_run_set(struct hd_run *r);
/* A forked child finds its memory wiped, and needs no system call to know: it may be under a filter. */
bool hd_run_is_alive(void);

/* Becomes the thread that starts or stops. The phase that was, or -EBUSY; -EALREADY where a start finds a
 * run. */
int hd_run_begin_change(bool starts, uint64_t until_ns);
void hd_run_end_change(enum hd_run_phase now);

/* It runs, and no stop goes on. */
bool hd_run_has(const struct hd_run *r);
/* Until the start or stop that goes on is over. */
void hd_run_wait_changed(uint64_t until_ns);

/* ---- waking and waiting --------------------------------------------------------------------- */

/* Wakes the monitor. Any thread; async-signal-safe. */
void hd_run_wake(struct hd_run *r);
/* Waits until our threads have closed what their descriptor tables were born with, and have opened what they
 * keep: a program that goes into another root or gives up rights as the first thing it does would be ahead of
 * them. Not for long, nor beyond `until_ns`. */
void hd_run_wait_ready(struct hd_run *r, uint64_t until_ns);
void hd_run_is_ready(struct hd_run *r); /* one of our threads says so */
/* As long as the word is this, and not beyond `until_ns`. */
void hd_run_wait_while(_Atomic uint32_t *word, uint32_t is, uint64_t until_ns);

#endif
