/* SPDX-License-Identifier: MIT
 *
 * The watcher's memory: processes and their threads. A thread has little memory of its own. It has
 * more while a turn of the thread is long (followed.h), and its process, too (reporting.h).
 */
#ifndef CLI_OUTSIDE_WATCHED_H
#define CLI_OUTSIDE_WATCHED_H

#include "cli/live/process.h"
#include "cli/outside/users.h"
#include "cli/outside/watcher_options.h"
#include "loop/loop.h"

struct outside_followed;   /* followed.c */
struct outside_reporting;  /* reporting.c */
struct outside_recogniser; /* recognise.h */
struct outside_stacks;     /* recognise_stacks.h */

struct outside_turns {
    uint64_t busy_ns, idle_ns;
    uint64_t histogram[HD_TURN_HISTOGRAM];
};

struct outside_thread {
    struct outside_process *process;
    struct outside_thread *next;           /* of the process */
    struct outside_thread *chain;          /* of the same bucket of the watcher's table */
    struct outside_recogniser *recogniser; /* NULL: the thread has made no wait yet */
    struct outside_followed *followed;     /* NULL: no turn of the thread is followed */
    pid_t tid;
    uint8_t certainty; /* enum hd_record_certainty, of the thread's own loop */
    uint8_t sights;    /* kinds of waits so far, at most 2 */
    bool listed;       /* at the newest list of the process's threads */
    /* the watch's slot in the process's run, plus 1; 0: there is none */
    uint16_t slot;
    bool has_evidence; /* of the loop: a hang of 5 s is reported before the loop is certain */
    bool left;         /* the program has left the loop: the running turn is no hang */
    uint64_t changes;  /* how often another wait has become the loop's own */
    uint64_t added_ns; /* when the watch began */
    uint64_t ended_ns; /* when the thread ended; 0: it lives */
    uint64_t loops_ns; /* when the recogniser is to look again */
};

struct outside_process {
    struct watched_process shown; /* must be first, since callbacks get a pointer to it */
    /* each step reads these of all processes */
    struct outside_process *next;
    struct outside_reporting *reporting; /* NULL: closed */
    uint64_t listed_ns;                  /* when its threads were listed */
    bool ended;                          /* the process is not there any more */
    bool replaced;                       /* the process runs another program now (exec) */
    bool thread_ended;                   /* a thread of the process has ended since the newest look */
    bool stopped;                        /* by a signal, at the newest look */
    struct watcher *watcher;
    struct live_process live;
    struct outside_thread *threads;
    unsigned thread_count;
    unsigned followed;                /* number of threads with a turn that the watcher follows now */
    struct outside_share share;       /* of the work on its waits */
    struct outside_kept *kept;        /* of reporting.c; NULL: nothing yet */
    struct outside_turns ended_turns; /* of the threads that have ended */
    bool own_record;                  /* the record is in memory of its own */
    uint64_t program;                 /* of the program that the process runs; another one after an exec */
    uint64_t added_ns;                /* when the watch began */
    bool unwatched_said;              /* the note about threads without a place */
    bool young; /* the program had just started then: its first wait ends its launch, and no hang */
};

#define OUTSIDE_BUCKETS 1024u
#define OUTSIDE_MANY_THREADS \
    256u /* more are looked at and listed more rarely: these costs are the watcher's budget */

struct watcher {
    struct watcher_options options;
    const struct hd_hook_way *way;
    struct hd_hook *hook;
    struct outside_stacks *stacks;
    struct outside_process *processes;
    struct outside_user *users;
    unsigned count, records_used;
    struct outside_thread *bucket[OUTSIDE_BUCKETS];
    struct outside_process *reads; /* reads.h; NULL: none */
    uint8_t *stack;                /* for one capture */
    uint64_t next_ns, checked_ns, looked_ns, scanned_ns;
    bool busy;        /* a process needs a look before the next look at all */
    unsigned threads; /* of all processes */
    unsigned sampled; /* the number of threads that have an open perf event */
};

/* True: the hook finds the long turns of known loops, and the watcher looks at the other threads rarely. */
static inline bool outside_has_many(const struct watcher *w) {
    return w->threads > OUTSIDE_MANY_THREADS;
}

#endif
