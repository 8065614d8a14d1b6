/* SPDX-License-Identifier: MIT
 *
 * The options of a watcher, the functions that it calls, and the values that they get.
 */
#ifndef CLI_OUTSIDE_WATCHER_OPTIONS_H
#define CLI_OUTSIDE_WATCHER_OPTIONS_H

#include "cli/base/error.h"
#include "cli/outside/working.h"
#include "outside/hook.h"
#include "record/record.h"

/* A watched process, as callbacks get it. Pointers stay valid until process_ended has returned. */
struct watched_process {
    pid_t pid;                /* as this process's /proc has it */
    const char *name;         /* for a person: "redis-server" */
    const char *app;          /* as reports name it: "server.js" */
    const char *spool;        /* where its reports are */
    uid_t uid;                /* of the program's user */
    struct hd_record *record; /* its totals: hangs, turns, losses */
    uint64_t spent_ns;        /* for how long the watcher has worked for it */
    unsigned loops;           /* how many threads are known to have a loop */
    unsigned unwatched;       /* threads for which the hook had no place, at the newest list */
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
    const char *hook; /* the name of a way (hd_hook_ways); NULL: the first that can be opened */
    struct watcher_events events;
    struct hd_record *records; /* memory for the records of the first processes; NULL: the watcher's own */
    unsigned records_count;
    struct working
        *now; /* the watcher stores here which process it reads, for a supervisor; NULL: no supervisor */
};

#endif
