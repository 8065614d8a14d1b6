/* SPDX-License-Identifier: MIT
 *
 * The threads of the watched processes, by their numbers.
 */
#ifndef CLI_OUTSIDE_THREADS_H
#define CLI_OUTSIDE_THREADS_H

#include "cli/outside/watched.h"

/* NULL: no thread with this number is watched. */
struct outside_thread *outside_thread_of(const struct watcher *w, pid_t tid);
/* The process gets a thread, or has it already. -ENOSPC: its user's programs have too many; or the error of
 * the hook's `watch`. */
int outside_thread_add(struct outside_process *p, pid_t tid);
void outside_thread_remove(struct outside_thread *t);
/* Adds new threads of the process, and marks those that are gone. */
void outside_threads_list(struct outside_process *p);

#endif
