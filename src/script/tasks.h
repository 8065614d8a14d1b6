/* SPDX-License-Identifier: MIT
 *
 * Tasks of asyncio, on CPython 3.11 to 3.14, read from outside of the interpreter. A task is its object's
 * address. Any address may be garbage meanwhile: the answer is then "none". Call hd_scripts_expand before.
 * Worker, or another process; no allocation, no lock.
 */
#ifndef HD_TASKS_H
#define HD_TASKS_H

#include "script/script.h"

#define HD_TASK_NAME_BYTES 64u
#define HD_TASK_FRAMES 32u
#define HD_TASK_TYPE_BYTES 48u

enum hd_task_state {
    HD_TASK_NEW,
    HD_TASK_WAITS,
    HD_TASK_RUNS
};

struct hd_task {
    uint64_t task, loop, coroutine;
    uint64_t future; /* the future at the end of the awaits; 0: none */
    char name[HD_TASK_NAME_BYTES];
    uint8_t state; /* enum hd_task_state */
};

/* False: it is no task, or one that is done. */
bool hd_task_read(const struct hd_scripts *s, uint64_t task, struct hd_task *out);

/* The task that the thread runs now; 0: none. */
uint64_t hd_task_running(struct hd_scripts *s, int tid);
/* A task that awaits this one, directly or by gather, wait, shield or a TaskGroup; 0: none. */
uint64_t hd_task_awaiter(const struct hd_scripts *s, uint64_t task);

#define HD_TASK_AWAITERS 4u

struct hd_task_chain { /* names */
    char name[HD_TASK_NAME_BYTES];
    char awaiter[HD_TASK_AWAITERS][HD_TASK_NAME_BYTES]; /* of the task, then of that awaiter, ... */
    uint8_t awaiters;
};
/* The task that the thread runs, and its awaiters. An empty name: none. */
void hd_task_chain(struct hd_scripts *s, int tid, struct hd_task_chain *out);

/* All tasks, done ones too. Their number. */
uint32_t hd_tasks_all(const struct hd_scripts *s, uint64_t *tasks, uint32_t max);

/* The functions in which a waiting task stands, the innermost first: `script` and `at` of `frames`. */
struct hd_task_wait {
    /* The first local of the innermost function, such as the Lock of Lock.acquire, and its type. */
    uint64_t self;
    char self_type[HD_TASK_TYPE_BYTES];
    char type[HD_TASK_TYPE_BYTES]; /* of the future, or of another awaited object */
};
uint32_t hd_task_frames(struct hd_scripts *s, const struct hd_task *task, struct hd_frame *frames,
                        uint32_t max, struct hd_task_wait *wait);

/* The objects of which the task may be in the body of `async with object`. Their number. */
uint32_t hd_task_entered(const struct hd_scripts *s, const struct hd_task *task, uint64_t *objects,
                         uint32_t max);
/* Whether this thread runs the event loop. */
bool hd_task_loop_runs(struct hd_scripts *s, int tid, uint64_t loop);

#endif
