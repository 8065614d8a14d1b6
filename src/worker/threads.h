/* SPDX-License-Identifier: MIT
 *
 * All threads of the process but ours, captured for one report: of a hang, a crash, CPU use, or a live
 * report. No thread gets a signal. Worker.
 */
#ifndef HD_WORKER_THREADS_H
#define HD_WORKER_THREADS_H

#include "cause/probe.h"
#include "report/report.h"
#include "watch/run.h"
#include "worker/stacks.h"

#define HD_THREADS_MAX 256
#define HD_THREAD_FRAMES_MAX 3200

struct hd_thread_seen {
    uint64_t cpu_ns;
    union {
        uint64_t at_ns;  /* of a running thread: time of the first try; 0: not known */
        uint64_t slices; /* of a thread whose stack was read: its statistics then */
    };
};

struct hd_threads {
    /* the worker sets these at its start */
    const struct hd_run *run;
    struct hd_stacks *stacks;
    struct hd_probe_context *probe;
    hd_thread_id own;
    /* the set captured last */
    struct hd_thread_record thread[HD_THREADS_MAX];
    struct hd_thread_seen seen[HD_THREADS_MAX];
    uint32_t count, left_out, frames_used;
    char first_path[64]; /* file that the first thread's call works on */
    struct hd_frame frames[HD_THREAD_FRAMES_MAX];
    uint8_t stack[HD_STACK_BYTES_MAX]; /* buffer for one thread at a time */
};

/* Captures all threads: `first`, which may own a lock, then the `watched` one, then the others. Takes up to
 * 25 ms. Running threads get a second try after 20 ms; such a thread has a share of a CPU and no stack. */
void hd_threads_capture(struct hd_threads *t, hd_thread_id watched, hd_thread_id first);

/* Among the captured threads, finds a ring of them that wait for each other, and that `thread` is in or waits
 * for.
 */
void hd_threads_find_deadlock(const struct hd_threads *t, hd_thread_id thread, struct hd_turn_threads *out);

/* The thread that uses most of a CPU in the next 20 ms. Overwrites the captured set. Maybe HD_THREAD_ID_NONE.
 */
hd_thread_id hd_threads_busiest(struct hd_threads *t);

/* True: the thread, which was off its CPU with these statistics, has not run since. */
bool hd_threads_has_not_run(hd_thread_id thread, const struct hd_sched *since);

#endif
