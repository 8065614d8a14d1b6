/* SPDX-License-Identifier: MIT
 *
 * Recognises the threads of known pools by their stacks. On the worker thread.
 */
#ifndef HD_POOL_KIND_H
#define HD_POOL_KIND_H

#include "worker/state.h"

/* The facts about a pool that one thread's stack shows. */
struct hd_pool_stack {
    uint8_t kind;   /* enum hd_pool_kind */
    bool idle;      /* true: the thread waits for work */
    bool whole;     /* true: the stack was read to its end, so the answer is final */
    uint64_t key;   /* as in struct hd_pool */
    int32_t queued; /* tasks that wait for a thread; < 0: not known */
    uint32_t most;  /* the largest number of threads that the pool may have; 0: not known */
};

/* Captures the blocked thread in place and unwinds it into worker->stacks.frames. Returns the number of
 * frames; 0: the thread runs, or has ended. */
uint32_t hd_pool_kind_capture(struct hd_worker *worker, hd_thread_id thread, struct hd_capture *c,
                              struct hd_walk *walk);

/* Reads the pool from the stack that hd_pool_kind_capture has read. */
void hd_pool_kind_read(struct hd_worker *worker, hd_thread_id thread, const struct hd_capture *c,
                       const struct hd_walk *walk, uint32_t count, struct hd_pool_stack *out);

/* True: the thread of this stack waits at a condition variable or a semaphore, or by a plain futex. */
bool hd_pool_kind_may_be_idle(struct hd_worker *worker, hd_thread_id thread, const struct hd_capture *c,
                              uint32_t count);

const char *hd_pool_kind_name(uint8_t kind);

#endif
