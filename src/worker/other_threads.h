/* SPDX-License-Identifier: MIT
 *
 * Every other thread of the process, captured when a hang opens. Worker.
 */
#ifndef HD_OTHER_THREADS_H
#define HD_OTHER_THREADS_H

#include "base/types.h"
#include "capture/capture.h"
#include "report/report.h"

#define HD_THREADS_MAX 256
#define HD_THREAD_FRAMES_MAX 3200

struct hd_worker;
struct hd_turn;

struct hd_thread_seen {
    uint64_t cpu_ns;
    union {
        uint64_t at_ns;  /* of one that runs: at the first try; 0: not known */
        uint64_t slices; /* of one whose stack was read: when it was */
    };
};

struct hd_other_threads {
    struct hd_thread_record thread[HD_THREADS_MAX];
    struct hd_thread_seen seen[HD_THREADS_MAX];
    uint32_t count, left_out, frames_used;
    char first_path[64]; /* of the thread that comes first, which owns the lock that is waited for */
    struct hd_frame frames[HD_THREAD_FRAMES_MAX];
    uint8_t stack[HD_STACK_BYTES_MAX]; /* one thread's at a time */
};

/* Captures every thread of the process once, `first` and the watched one first: within 25 ms, retried
 * over 20. */
void hd_threads_capture(struct hd_worker *k, hd_thread_id watched, hd_thread_id first);
/* Whether the hang's thread is, or waits for, a ring of them that will never run again. After the above. */
void hd_threads_find_deadlock(struct hd_worker *k, struct hd_turn *h);
/* The thread, not one of ours, that uses most of a CPU in 20 ms. Overwrites what the above captured. Or none.
 */
hd_thread_id hd_threads_busiest(struct hd_worker *k);
/* A thread that was off its processor with these figures has not run since. */
bool hd_thread_stands_still(hd_thread_id thread, const struct hd_sched *since);

#endif
