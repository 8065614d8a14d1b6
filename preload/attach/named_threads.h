/* SPDX-License-Identifier: MIT
 *
 * Watches the threads that the user named (--thread). Without that option, it watches tokio's workers, as
 * long as the main thread has no loop. The watch of such a thread starts at one of the thread's waits, and
 * lasts until the thread ends. A thread may get its name late. So an unwatched thread checks its name at its
 * waits, at most every 100 ms.
 */
#ifndef HD_NAMED_THREADS_H
#define HD_NAMED_THREADS_H

#include "preload/waits/recognition.h"
#include "preload/waits/wait_table.h"

struct hd_named;
/* NULL: the user named no thread, or there was no memory. In a forked child the kernel has wiped the memory
 * that this points to. */
extern struct hd_named *hd_named;

/* Called by the constructor. */
void hd_named_init(struct hd_record *r);

/* The calling thread is not watched and is about to wait. True: the watch of this thread has started. Keeps
 * errno. */
bool hd_named_watch_caller(void);

/* Says whether the main thread has a loop. */
void hd_named_set_main_loop(bool has_loop);

/* The wait table of the watched thread with the most waits; `t` where none has more. On the worker thread. */
const struct hd_wait_table *hd_named_busiest(const struct hd_wait_table *t);

/* Ends the watches of all named threads. The caller has stopped the monitor, or is the monitor. The
 * threads can be watched again once a monitor runs again. */
void hd_named_forget(void);

/* The recogniser's functions for all named threads. hd_named_due runs on the monitor thread,
 * hd_named_recognise on the worker thread. If `blocked` is NULL, hd_named_recognise judges all waits by
 * `tools`. Otherwise it judges nothing and needs no tools, but fills `how` for the thread whose loop is
 * `blocked`. In both cases it returns the certainty (enum hd_record_certainty) of the best known loop. */
bool hd_named_due(uint64_t now_ns);
uint32_t hd_named_recognise(const struct hd_stack_tools *tools, const struct hd_loop *blocked,
                            struct hd_blocked *how);

#endif
