/* SPDX-License-Identifier: MIT
 *
 * A thread in a long turn: the turn's state (src/detect), its samples, and its messages to the worker.
 */
#ifndef CLI_OUTSIDE_FOLLOWED_H
#define CLI_OUTSIDE_FOLLOWED_H

#include "cli/outside/watched.h"

#define FOLLOWED_INTERVALS 2 /* a turn of this age is followed */

/* Looks at the thread: follows its turn if the turn is long, samples it, ends it. Returns when the next look
 * is due. */
uint64_t followed_look(struct outside_thread *t, uint64_t now_ns);

/* The hook says exactly when a long turn of the thread ended. */
void followed_turn(struct outside_thread *t, const struct hd_hook_turn *turn);

/* The turn is void: the wait before it was not the loop's. */
void followed_void(struct outside_thread *t, uint64_t now_ns);

/* The watcher has found the thread's loop, whose first wait began at `first_ns`. The hook counted that wait
 * as part of the turn, so the turn ends there. */
void followed_found(struct outside_thread *t, uint64_t first_ns);

/* The thread has ended, and its process lives. */
void followed_end(struct outside_thread *t, uint64_t ended_ns);

/* Drops the turn, and its report as it is: the thread has ended, or the process is left. */
void followed_drop(struct outside_thread *t);

#endif
