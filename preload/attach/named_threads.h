/* SPDX-License-Identifier: MIT
 * Threads that are watched because the user named them (--thread). The watch starts at a wait of a thread
 * with such a name and lasts until the thread ends. A thread may get its name late, so an unwatched thread
 * checks its name at its waits, at most each 100 ms.
 */
#ifndef HD_NAMED_THREADS_H
#define HD_NAMED_THREADS_H

#include "preload/waits/recognition.h"
#include "preload/waits/wait_table.h"

struct hd_named;
extern struct hd_named *hd_named; /* NULL: the user named no thread. Wiped in a forked child */

/* Called by the constructor. */
void hd_named_init(struct hd_record *r);

/* The calling thread is not watched and is about to wait. True: the watch of this thread has started. Keeps
 * errno. */
bool hd_named_watch_caller(void);

/* Ends the watch of all named threads, after the monitor has stopped. A later run may watch them again. */
void hd_named_forget(void);

/* The recogniser's functions for all named threads: the monitor calls hd_named_due, the worker
 * hd_named_recognise. Returns the certainty of the best known loop (enum hd_record_certainty). With
 * `blocked`, only describes in `how` how the thread of that loop waits, and needs no tools. */
bool hd_named_due(uint64_t now_ns);
uint32_t hd_named_recognise(const struct hd_stack_tools *tools, const struct hd_loop *blocked,
                            struct hd_blocked *how);

#endif
