/* SPDX-License-Identifier: MIT */
#include "cli/outside/watcher.h"

#include <errno.h>
#include <stddef.h>

struct watcher *watcher_create(const struct watcher_options *options, struct problem *why) {
    (void)options;
    error_set(why, "cannot watch a program that runs: this build has no way");
    return NULL;
}

void watcher_destroy(struct watcher *w) {
    (void)w;
}

const struct hd_hook_way *watcher_way(const struct watcher *w) {
    (void)w;
    return NULL;
}

int watcher_add(struct watcher *w, pid_t pid, struct problem *why) {
    (void)w, (void)pid, (void)why;
    return -ENOTSUP;
}

void watcher_remove(struct watcher *w, pid_t pid) {
    (void)w, (void)pid;
}

unsigned watcher_count(const struct watcher *w) {
    (void)w;
    return 0;
}

const struct watched_process *watcher_find(const struct watcher *w, pid_t pid) {
    (void)w, (void)pid;
    return NULL;
}

const struct watched_process *watcher_next(const struct watcher *w, const struct watched_process *before) {
    (void)w, (void)before;
    return NULL;
}

void watcher_step(struct watcher *w) {
    (void)w;
}

uint64_t watcher_next_ns(const struct watcher *w) {
    (void)w;
    return UINT64_MAX;
}

int watcher_descriptor(const struct watcher *w) {
    (void)w;
    return -1;
}
