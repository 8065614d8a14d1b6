/* SPDX-License-Identifier: MIT
 *
 * Watches processes that already run. No code of ours is in them, and they notice nothing. One thread,
 * ordinary code: the thread calls watcher_step each time when it is due.
 */
#ifndef CLI_OUTSIDE_WATCHER_H
#define CLI_OUTSIDE_WATCHER_H

#include "cli/base/error.h"
#include "outside/hook.h"
#include "record/record.h"

struct watcher;

/* A watched process, as callbacks get it. Pointers stay valid until process_ended has returned. */
struct watched_process {
    pid_t pid;                /* as this process's /proc has it */
    const char *name;         /* for a person: "redis-server" */
    const char *app;          /* as reports name it: "server.js" */
    const char *spool;        /* where its reports are */
    uid_t uid;                /* of the program's user */
    struct hd_record *record; /* its totals: hangs, turns, losses */
    unsigned loops;           /* how many threads are known to have a loop */
    bool left;                /* in process_ended: the process still runs, and is no longer watched */
};

/* A hang, as callbacks get it. `report`: the report's id, by which the process's spool has it. */
struct watched_hang {
    pid_t tid;
    const char *loop; /* its name in reports */
    const char *report;
    uint64_t start_ns, duration_ns, threshold_ns;
    bool suppressed; /* the caps allowed no report */
};

/* The watcher calls these functions, always from within one of its own functions. NULL: not wanted. */
struct watcher_events {
    void *arg;
    /* Before a process is watched. `options` has a copy of the watcher's; the function may set the app's
     * name, its spool, version, environment, thresholds. False: the process is not to be watched. */
    bool (*choose)(void *arg, const struct watched_process *p, struct hd_record_options *options);
    void (*process_added)(void *arg, const struct watched_process *p);
    /* A thread's loop is known, or has become certain. */
    void (*loop)(void *arg, const struct watched_process *p, pid_t tid, enum hd_record_certainty certainty);
    void (*hang_open)(void *arg, const struct watched_process *p, const struct watched_hang *h);
    void (*hang_end)(void *arg, const struct watched_process *p, const struct watched_hang *h);
    /* The turn was no hang: its report is gone. */
    void (*hang_withdrawn)(void *arg, const struct watched_process *p, const struct watched_hang *h);
    /* The process has ended, or is watched no longer. Its reports are settled, its totals final. */
    void (*process_ended)(void *arg, const struct watched_process *p);
    /* A watched process has started another one (fork), or runs another program now (exec). The receiver may
     * call watcher_add. */
    void (*process_began)(void *arg, pid_t pid, pid_t parent);
    /* For a person: one sentence about what the watcher cannot do. `p`: NULL, about all. */
    void (*note)(void *arg, const struct watched_process *p, const char *text);
};

struct watcher_options {
    /* Thresholds, interval, caps, the name and the spool (empty: `choose` sets it), --loop. */
    struct hd_record_options settings;
    const char *hook; /* the name of a way (hd_hook_ways); NULL: the best that can be opened */
    struct watcher_events events;
    struct hd_record *records; /* memory for the records of the first processes; NULL: the watcher's own */
    unsigned records_count;
};

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
