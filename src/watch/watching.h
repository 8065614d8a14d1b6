/* SPDX-License-Identifier: MIT
 *
 * Adds and removes watches. These functions run on the program's threads, which may call them at any moment.
 * A call takes less than 100 ms. hd_watch_add allocates the memory with which a watched thread answers a
 * signal.
 */
#ifndef HD_WATCHING_H
#define HD_WATCHING_H

#include "watch/run.h"

/* Adds a watch for the calling thread's loop. The loop starts in a turn, which started at `start_ns`.
 * HD_SINCE_LAUNCH: the turn started at Hangdog's start if this thread launches the program, otherwise now.
 * Returns NULL if there is no free slot, no memory, or Hangdog has stopped. */
#define HD_SINCE_LAUNCH 0
struct hd_watch *hd_watch_add(struct hd_run *r, const char *name, uint64_t threshold_ns, uint64_t start_ns);

/* From this call until hd_watch_leave() no start of Hangdog zeroes the watches. Returns false if Hangdog has
 * stopped; in this case do not call hd_watch_leave(). */
bool hd_watch_enter(struct hd_run *r);
void hd_watch_leave(struct hd_run *r);

/* Waits until the monitor has opened the files of the watch's thread, at most HD_READY_NS. Without this call,
 * a program that first makes itself undumpable could keep the monitor from opening them. */
void hd_watch_wait_open(struct hd_run *r, struct hd_watch *w);

/* Ends a watch of the calling thread. Waits until the monitor no longer reads that thread's stack, but at
 * most HD_CALL_NS. */
void hd_watch_remove(struct hd_run *r, struct hd_watch *w);

/* Frees the calling thread's memory for a watch that a stop of Hangdog has ended. If Hangdog is still
 * stopping, the function first waits until that is over, at most HD_CALL_NS. */
void hd_watch_leave_stopped(void);

#endif
