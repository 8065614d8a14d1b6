/* SPDX-License-Identifier: MIT
 *
 * Adds and removes watches, on the program's threads. A call may come at any moment, and takes less than
 * 100 ms. hd_watch_add allocates the memory with which a watched thread answers a signal.
 */
#ifndef HD_WATCHING_H
#define HD_WATCHING_H

#include "watch/run.h"

/* Adds a watch for the calling thread's loop, which counts as in a turn since `start_ns`. HD_SINCE_LAUNCH:
 * since Hangdog's start if that thread launches the program, else since now. Returns NULL if there is no
 * free slot, no memory, or Hangdog has stopped. */
#define HD_SINCE_LAUNCH 0
struct hd_watch *hd_watch_add(struct hd_run *r, const char *name, uint64_t threshold_ns, uint64_t start_ns);

/* From here to hd_watch_leave() no start zeroes the watches. Returns false if Hangdog has stopped: then do
 * not call hd_watch_leave(). */
bool hd_watch_enter(struct hd_run *r);
void hd_watch_leave(struct hd_run *r);

/* Waits until the monitor has opened the files of the watch's thread, at most HD_READY_NS. If a program
 * makes itself undumpable as its first act, the monitor cannot open the files later. */
void hd_watch_wait_open(struct hd_run *r, struct hd_watch *w);

/* Ends a watch of the calling thread. Waits until the monitor no longer reads that thread's stack, at most
 * HD_CALL_NS. */
void hd_watch_remove(struct hd_run *r, struct hd_watch *w);

/* Frees the calling thread's memory for a watch that a stop of Hangdog has ended. If the stop still lasts,
 * waits for its end, at most HD_CALL_NS. */
void hd_watch_leave_stopped(void);

#endif
