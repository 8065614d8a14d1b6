/* SPDX-License-Identifier: MIT
 *
 * The table of the process's threads, and to which pool each belongs. On the worker thread.
 */
#ifndef HD_POOL_THREADS_H
#define HD_POOL_THREADS_H

#include "capture/linux/thread_files.h"
#include "worker/pool_kind.h"

/* Lists the threads, and finds the pools of new ones: of a few, or of `all`. Each list without news makes the
 * next one rarer. */
void hd_pool_threads_list(struct hd_worker *worker, uint64_t now_ns, bool all);

/* True: a thread started so recently that its pool is not known yet. The next list may find it. */
bool hd_pool_threads_are_new(const struct hd_pools *p);

/* Reads the thread's system call. Opens the thread's files at the first read. Returns a number above 0, or an
 * error. */
long hd_pool_threads_read_call(struct hd_pool_thread *t, struct hd_proc_syscall *call);

/* True: the call of this thread is the idle wait of the pool, or the known idle wait of the thread. */
bool hd_pool_threads_is_idle(const struct hd_pool_thread *t, const struct hd_pool *pool,
                             const struct hd_proc_syscall *call);

/* Reads the thread's stack into *out, and stores an idle wait in the thread. False: the thread runs. */
bool hd_pool_threads_classify(struct hd_worker *worker, struct hd_pool_thread *t, struct hd_pool_stack *out);

#endif
