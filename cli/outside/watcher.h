/* SPDX-License-Identifier: MIT
 *
 * Watches processes that already run. No code of ours is in them, and they notice nothing. One thread,
 * ordinary code: the thread calls watcher_step each time when it is due.
 */
#ifndef CLI_OUTSIDE_WATCHER_H
#define CLI_OUTSIDE_WATCHER_H

#include "cli/outside/watcher_options.h"

struct watcher;

/* NULL, and why: no way can be opened. */
struct watcher *watcher_create(const struct watcher_options *options, struct problem *why);
void watcher_destroy(struct watcher *w); /* leaves all processes first */

/* The way that is in use. */
const struct hd_hook_way *watcher_way(const struct watcher *w);

/* Watches a process and all its threads. 0; -EEXIST: it is watched already; else a negative errno value, and
 * why. The process's /proc and its number are not trusted: a number that is reused is another process. */
int watcher_add(struct watcher *w, pid_t pid, struct problem *why);
/* Leaves a process that still runs. */
void watcher_remove(struct watcher *w, pid_t pid);
unsigned watcher_count(const struct watcher *w);
const struct watched_process *watcher_find(const struct watcher *w, pid_t pid);
/* The first process (`before` NULL), or the next; NULL: the last was before. */
const struct watched_process *watcher_next(const struct watcher *w, const struct watched_process *before);

/* Looks at all processes. Call it at watcher_next_ns (CLOCK_MONOTONIC), or when watcher_descriptor is
 * readable (-1: it never is). */
void watcher_step(struct watcher *w);
uint64_t watcher_next_ns(const struct watcher *w);
int watcher_descriptor(const struct watcher *w);

#endif
