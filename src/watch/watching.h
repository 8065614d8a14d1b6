/* SPDX-License-Identifier: MIT
 *
 * Adds and removes watches. These functions run on the program's threads, which may call them at any moment.
 * A call takes less than 100 ms. hd_watch_add allocates the memory that a watched thread uses when it answers
 * the monitor's signals.
 */
#ifndef HD_WATCHING_H
#define HD_WATCHING_H

#include "watch/run.h"

/* Adds a watch for the calling thread's loop. The loop starts in a turn, which started at `start_ns`. If
 * `start_ns` is HD_SINCE_LAUNCH, that turn started at Hangdog's start if this thread launches the program,
 * otherwise now. Returns NULL if there is no free slot, if memory cannot be allocated, or if Hangdog has
 * stopped. */
#define HD_SINCE_LAUNCH 0
#define HD_MAIN_LOOP "main" /* the preload's name for the loop of the main thread */
struct hd_watch *hd_watch_add(struct hd_run *r, const char *name, uint64_t threshold_ns, uint64_t start_ns);

/* From this call until hd_watch_leave() no start of Hangdog zeroes the watches. Returns false if Hangdog has
 * stopped; in this case do not call hd_watch_leave(). */
bool hd_watch_enter(struct hd_run *r);
void hd_watch_leave(struct hd_run *r);

/* Blocks the calling thread until the monitor has opened the files in /proc of the watch's thread, at most
 * HD_READY_NS. Without this call, a program that soon makes itself undumpable could keep the monitor from
 * opening these files. */
void hd_watch_wait_open(struct hd_run *r, struct hd_watch *w);

/* Ends a watch of the calling thread. Blocks that thread until the monitor no longer reads its stack, but at
 * most HD_CALL_NS. */
void hd_watch_remove(struct hd_run *r, struct hd_watch *w);

/* Frees the memory in which the calling thread answered the monitor's signals, for a watch that a stop of
 * Hangdog has ended. If Hangdog is still stopping, the thread is first blocked until the stop is over, at
 * most HD_CALL_NS. */
void hd_watch_leave_stopped(void);

#endif
