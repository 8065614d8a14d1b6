/* SPDX-License-Identifier: MIT
 *
 * All threads of the process but ours, captured for one report: of a hang, a crash, CPU use, or a live
 * report. No thread gets a signal. On the worker thread.
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
        uint64_t at_ns;  /* of a running thread: the time of the first try; 0: there was none yet */
        uint64_t slices; /* of a thread with a stack: its statistics when the stack was read */
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

/* Captures all threads within 25 ms: `first`, which may own a lock, then `watched`, then the others. After 20
 * ms running threads get a second try. A thread that runs then has a share of a CPU and no stack. */
void hd_threads_capture(struct hd_threads *t, hd_thread_id watched, hd_thread_id first);

/* Finds a ring of captured threads that wait for each other. `thread` is in the ring, or waits for a thread
 * in it. */
void hd_threads_find_deadlock(const struct hd_threads *t, hd_thread_id thread, struct hd_turn_threads *out);

/* Finds the thread that uses most of a CPU in the next 20 ms; HD_THREAD_ID_NONE: no thread uses any.
 * Overwrites the captured set. */
hd_thread_id hd_threads_busiest(struct hd_threads *t);

/* True: the thread has not run since it had these statistics. */
bool hd_threads_has_not_run(hd_thread_id thread, const struct hd_sched *since);

#endif
