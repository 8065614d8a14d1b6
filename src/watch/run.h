/* SPDX-License-Identifier: MIT
 *
 * The state of Hangdog in a process from a start to the next stop, called a run. The program's threads, the
 * monitor and the worker share this state. It is in one mapping, which the kernel wipes in forked children.
 * During a hang neither the monitor nor the worker allocates memory, or takes a lock that the watched thread
 * may have taken.
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

/* The longest time that one call of the public API is blocked in all. Other such calls may block it first,
 * then the monitor or the worker. */
#define HD_CALL_NS (90 * HD_NS_PER_MS)
/* The longest time that a call is blocked until the monitor and the worker have opened their files. */
#define HD_READY_NS (20 * HD_NS_PER_MS)

enum hd_run_thread {
    HD_RUN_MONITOR,
    HD_RUN_WORKER,
    HD_RUN_THREADS
};

/* The stop of Hangdog: who wants it, and which steps of it are done. */
struct hd_channel_stop {
    /* true: Hangdog is to stop. The program sets this member; the monitor sets it before it calls
     * ports.exceeds. */
    _Atomic bool requested;
    _Atomic bool at_exit; /* true: Hangdog stops because the process ends */
    /* True once the monitor closes all watches for the stop. A thread that adds a watch later must take the
     * watch back itself, because the monitor does not see that watch. */
    _Atomic bool watches_closed;
    _Atomic bool worker_left; /* true: the call that stops Hangdog returned before the worker had finished */
    _Atomic uint32_t worker_done; /* a futex word: 0, and 1 once the worker has finished */
};

/* The state that the program sets by the public functions. */
struct hd_channel_program {
    _Atomic uint32_t state;  /* hangdog_state */
    _Atomic uint32_t paused; /* how many calls of hangdog_pause have had no hangdog_resume yet */
    struct hd_background background;
    _Atomic bool limits_changed; /* true: a threshold or the interval has changed; the monitor clears it */
};

/* The two threads that Hangdog starts: the monitor and the worker. */
struct hd_channel_threads {
    _Atomic hd_thread_id monitor, worker;
    uint8_t count;          /* how many of the two threads are started */
    _Atomic uint32_t ready; /* a futex word: how many of the two threads have opened their files */
};

/* The requests to the monitor and the worker to give up the rights that the main thread has given up
 * (watch/follow.h). */
struct hd_channel_follow {
    _Atomic uint32_t requests; /* how many requests the program's threads have made so far */
    /* Futex words, one for the monitor and one for the worker. Each is twice the number of the newest request
     * that its thread has answered. It is one more if this thread still has more rights than the main thread.
     */
    _Atomic uint32_t answered[HD_RUN_THREADS];
};

/* When the monitor requests the worker's next look at pools. Only the worker sets both members. */
struct hd_channel_pools {
    _Atomic uint64_t again_ns; /* this long after the last look; 0: only after a loop has run */
    _Atomic uint64_t after_ns; /* after a loop has run: at the earliest this long after the last look */
};

/* The data that the program's threads, the monitor and the worker pass to each other. */
struct hd_channel {
    _Atomic uint32_t wake;        /* the monitor's futex word: any thread adds one to wake the monitor */
    _Atomic uint32_t worker_wake; /* the worker's futex word: any thread adds one to wake the worker */
    struct hd_channel_stop stop;
    struct hd_channel_program program;
    struct hd_channel_threads threads;
    struct hd_channel_follow follow;

    /* Only the worker sets the next five members. */
    _Atomic uint64_t worker_cpu_ns;
    /* the start of the turn whose hang the worker wrote into the record last */
    _Atomic uint64_t open_start_ns;
    _Atomic uint32_t open_loop; /* the slot of the watch whose turn started at open_start_ns */
    /* the descriptor of settings.kept_file in the worker's descriptor table, plus 1; 0: there is none */
    _Atomic int kept_fd;
    /* The thread that used most CPU time when the process was over its CPU limit. The monitor samples it if
     * it has a watch. HD_THREAD_ID_NONE: the monitor samples no thread for its CPU time. */
    _Atomic hd_thread_id cpu_thread;

    struct hd_channel_pools pools;
    struct hd_live_request live;
    struct hd_events events;
    struct hd_ring ring;
};

/* The order of members matters: the next start of Hangdog zeroes all members before watches.entering, and
 * none from watches.entering on. */
struct hd_run {
    struct hd_settings settings;
    struct hd_ports ports;
    struct hd_record *record;
    bool ticks_are_tsc;
    struct hd_clock clock; /* only the monitor updates it */
    struct hd_channel channel;
    struct hd_watch_table watches;
    /* 1 once a start has set up the run; 0 in a forked child, where the kernel has wiped this memory */
    _Atomic uint32_t alive;
};

/* The first bytes of the run's mapping, by which `hangdog top` finds the run in another process. `hangdog
 * top` refuses a run whose structs have other sizes than in its own build. */
struct hd_run_place {
    uint64_t magic;
    uint64_t run; /* the address of struct hd_run */
    uint32_t run_bytes, watch_bytes;
};
#define HD_RUN_MAGIC 0x48414e47524e4701ULL /* "HANGRNG", version 1 */

/* ---- the present run ------------------------------------------------------------------------ */

enum hd_run_phase {
    HD_PHASE_STOPPED,
    HD_PHASE_CHANGING,
    HD_PHASE_RUNNING
};

/* Returns the run of this process. NULL: there is none, or a thread is starting or stopping it. Any thread;
 * async-signal-safe. */
struct hd_run *hd_run_current(void);
/* Returns the newest run, even if it has stopped, because a run's memory is not freed. NULL: Hangdog has
 * never started. */
struct hd_run *hd_run_last(void);
void hd_run_set(struct hd_run *r);
/* Returns whether the newest run belongs to this process. The result is false in a forked child, where the
 * kernel has wiped the run's memory. The function makes no system call, because the child may be under a
 * seccomp filter. */
bool hd_run_is_alive(void);

/* Blocks the calling thread until no other thread is starting or stopping Hangdog, and reserves the next
 * start or stop for the calling thread. Returns the phase before the call. Returns -EBUSY if another thread
 * is still starting or stopping Hangdog at `until_ns`. Returns -EALREADY if `starts` is true and Hangdog is
 * running. */
int hd_run_start_change(bool starts, uint64_t until_ns);
/* Ends the start or stop that the calling thread has reserved: stores the phase `now`, and lets other threads
 * start or stop Hangdog. */
void hd_run_end_change(enum hd_run_phase now);

/* Returns whether `r` is running, and no thread is stopping it. */
bool hd_run_has(const struct hd_run *r);
/* Blocks the calling thread until no thread is starting or stopping Hangdog, at most until `until_ns`. */
void hd_run_wait_changed(uint64_t until_ns);

/* ---- waking and waiting --------------------------------------------------------------------- */

/* Wakes the monitor. Any thread; async-signal-safe. */
void hd_run_wake(struct hd_run *r);
/* Blocks the calling thread until the monitor and the worker have their own descriptor tables and have opened
 * their files. Returns after HD_READY_NS or at `until_ns` even if they have not. Without this call, a program
 * that soon changes its root folder or gives up rights could keep the two threads from opening their files.
 */
void hd_run_wait_ready(struct hd_run *r, uint64_t until_ns);
/* Stores that the calling thread, the monitor or the worker, has opened its files. Wakes a thread that is
 * blocked in hd_run_wait_ready(). */
void hd_run_is_ready(struct hd_run *r);

#endif
