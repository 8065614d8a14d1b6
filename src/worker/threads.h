/* SPDX-License-Identifier: MIT
 *
 * Captures all threads of the process but Hangdog's own, for one report: of a hang, a crash, CPU use, or a
 * live report. Sends no signal to any thread. On the worker thread.
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
        /* for a running thread: the time when cpu_ns was first read; 0: cpu_ns was not read yet */
        uint64_t at_ns;
        /* for a thread with a stack: how many times the thread had got a CPU when its stack was read */
        uint64_t slices;
    };
};

struct hd_threads {
    /* The worker sets `run`, `stacks`, `probe` and `own` when it starts. */
    const struct hd_run *run;
    struct hd_stacks *stacks;
    struct hd_probe_context *probe;
    hd_thread_id own;
    /* The result of the newest capture of all threads of the process. */
    struct hd_thread_record thread[HD_THREADS_MAX];
    struct hd_thread_seen seen[HD_THREADS_MAX];
    uint32_t count, left_out, frames_used;
    uint64_t captures;   /* the number of captures so far */
    char first_path[64]; /* name of the file that the first thread's system call works on */
    struct hd_frame frames[HD_THREAD_FRAMES_MAX];
    uint8_t stack[HD_STACK_BYTES_MAX]; /* buffer for a copy of one thread's stack */
};

/* Captures `first`, which may own a lock, then `watched`, then the other threads. Leaves out other threads
 * that the worker has not reached after 25 ms. On Linux the stack of a running thread cannot be read, so the
 * worker tries again 20 ms after the start of the capture. If the thread still runs, the report shows the
 * thread's CPU use, and no stack. On Darwin it shows both. */
void hd_threads_capture(struct hd_threads *t, hd_thread_id watched, hd_thread_id first);

/* Starts at `thread`, and follows the captured threads that block each other. If these threads form a cycle,
 * which is a deadlock, stores the cycle in *out. */
void hd_threads_find_deadlock(const struct hd_threads *t, hd_thread_id thread, struct hd_turn_threads *out);

/* Returns the thread that uses the most CPU time in the next 20 ms; HD_THREAD_ID_NONE: no thread uses any.
 * Overwrites the newest capture of all threads. */
hd_thread_id hd_threads_busiest(struct hd_threads *t);

/* True: the thread's scheduling statistics still equal *since, so the thread has not run. */
bool hd_threads_has_not_run(hd_thread_id thread, const struct hd_sched *since);

#endif
