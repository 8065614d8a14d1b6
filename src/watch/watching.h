/* SPDX-License-Identifier: MIT
 *
 * The program's threads add and remove their watches: at any moment, for less than 100 ms. Allocates the
 * memory by which a watched thread answers a signal.
 */
#ifndef HD_WATCHING_H
#define HD_WATCHING_H

#include "watch/run.h"

/* Watches the calling thread's loop from `start_ns` on, as running. HD_SINCE_LAUNCH: from the run's start, if
 * that thread launches the program, else from now. NULL: there is no slot, no memory, or no run any more. */
#define HD_SINCE_LAUNCH 0
struct hd_watch *hd_watch_add(struct hd_run *r, const char *name, uint64_t threshold_ns, uint64_t start_ns);

/* From here to hd_watch_leave() no next start zeroes the watches. False: the run is over. */
bool hd_watch_enter(struct hd_run *r);
void hd_watch_leave(struct hd_run *r);

/* Waits until the monitor has opened that thread's files, at most HD_READY_NS. A program that makes itself
 * undumpable as its first act would prevent that. */
void hd_watch_wait_open(struct hd_run *r, struct hd_watch *w);

/* Ends a watch of the calling thread. Waits until the monitor no longer reads its stack, at most HD_CALL_NS.
 */
void hd_watch_remove(struct hd_run *r, struct hd_watch *w);

/* Leaves a watch of the calling thread that a stop ends or has ended. Waits as hd_watch_remove does. */
void hd_watch_leave_stopped(void);

#endif
