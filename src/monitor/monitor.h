/* SPDX-License-Identifier: MIT
 *
 * The state of the monitor and its worker: one struct in one mapping, taken at start, wiped in forked
 * children. Each member says who writes it. While a hang is on, neither thread allocates, nor takes a lock
 * that the watched thread could hold.
 */
#ifndef HD_MONITOR_H
#define HD_MONITOR_H

#include "capture/capture.h"
#include "detect/turn_state.h"
#include "loop/loop.h"
#include "monitor/budget.h"
#include "monitor/clock.h"
#include "record/record.h"
#include "report/report.h"
#include "report/spool.h"
#include "watch/message.h"
#include "watch/ring.h"

#define HD_BLOCK_LOOPS 16 /* watches are made so many at a time */
#define HD_BLOCKS 16
#define HD_LOOPS_MAX (HD_BLOCK_LOOPS * HD_BLOCKS) /* messages have a byte for them */
#define HD_NOTE_BYTES 4096u                       /* a page, which a file may be mapped over */
#define HD_MONITOR_STACK_BYTES (32u * 1024u + HD_OS_STACK_EXTRA)

enum hd_watch_use {
    HD_WATCH_FREE,
    HD_WATCH_CLAIMED, /* its thread is filling it */
    HD_WATCH_NEW,     /* the monitor is to open its files */
    HD_WATCH_ON,
    HD_WATCH_LEAVING, /* its thread waits for FREE */
};

/* One watched loop. */
struct hd_watch {
    struct hd_loop loop;         /* first: the public handle */
    _Atomic uint32_t use;        /* enum hd_watch_use; a futex word for the leaver */
    _Atomic uint64_t changed_ns; /* the worker: when a sample last differed from the one before it */
    _Atomic bool asked_again; /* the same: of each sample something is asked, also of those that are alike */
    /* the worker's: where the duration of the hang that began then is kept current; NULL: nowhere */
    _Atomic uint64_t *_Atomic note;
    _Atomic uint64_t note_start_ns;
    uint8_t index;               /* hd_watch_at() */
    _Atomic uint32_t generation; /* of the slot: its watches are counted */
    char name[32];               /* atomic, as since_ns: may change while the worker reads them */
    uint64_t threshold_ns;       /* foreground; 0: the option's */
    _Atomic uint64_t since_ns;   /* watched; its first turn may have begun before */
    void *thread_memory;         /* hd_capture_thread_bytes() */
    void *_Atomic left;          /* the same of a watch that its thread left before it was closed */
    struct hd_mailbox *mailbox;
    /* the monitor's from here on */
    struct hd_target target;
    struct hd_life life;
    struct hd_sched sched; /* at the last look */
    bool sched_valid;
    struct hd_sched begun; /* when the running turn was first seen, at begun_ns */
    uint64_t begun_ns;
    bool begun_valid;
    uint64_t begun_turn;
    uint64_t late_max_ns;  /* of the looks since then */
    uint64_t pause_max_ns; /* before: `target` counts anew with each turn */
    bool blocked;          /* the last sample found it blocked */
    bool sure_told;
    bool told;             /* the worker follows the turn that is tracked */
    bool launched;         /* it was idle once */
    hangdog_state state;   /* in which the turn that runs was last looked at */
    uint64_t resumed;      /* of the loop, as seen at the last look */
    uint64_t waited;       /* the same of its waited_to */
    uint64_t floor_ns;     /* no turn starts before: what was running then was none */
    uint32_t changes;      /* of the loop, as seen at the last look */
    uint64_t sampled_turn; /* ticks; the turn that `keep` is about */
    uint32_t keep;         /* bytes of the ring that its samples leave to others */
    uint32_t stack_bytes;  /* of the last sample that had any */
    uint64_t tracked_turn; /* ticks, while TRACKED is set; 0 */
    /* its time up to summed_ns; of the loop's busy ticks, busy_ns has summed_ticks */
    uint64_t busy_ns, idle_ns, summed_ns, summed_ticks;
    uint64_t told_ns;    /* busy in the last sum that had turns, by the counter */
    uint64_t stopped_ns; /* of the record: so much of it is taken off, or was there before */
    uint64_t next_ns;
};

struct hd_worker; /* worker/worker.h */
struct hd_hang;

/* A seccomp filter on watched threads: a system call of theirs may be the end of the program. They get no
 * signal and wake nobody any more; the monitor looks by the clock. */
enum hd_filter {
    HD_FILTER_NONE,
    HD_FILTER_COMES,  /* a thread is about to install it, and waits for */
    HD_FILTER_THERE,  /* the monitor to keep to it */
    HD_FILTER_FAILED, /* it was refused: the monitor makes it NONE */
};

/* Where the loop is not told but recognised (the preload): what the monitor and the worker do for it. All
 * NULL: nothing. */
struct hd_blocked {
    uint64_t sp; /* its stack pointer, in a whole stack of so many frames */
    uint32_t depth;
    bool in_turn;  /* asks: may it wait there until it is its turn at the loop's epoll instance? */
    int32_t epoll; /* the answer: at that one; -1: no */
    bool served;   /* another thread waits by it meanwhile */
};
struct hd_recogniser {
    bool (*due)(void *ctx, uint64_t now_ns);          /* the monitor: is there something to do? */
    void (*run)(void *ctx, struct hd_worker *worker); /* the worker: does it */
    /* the worker: a sample found the loop's thread blocked */
    void (*blocked)(void *ctx, const struct hd_loop *loop, struct hd_blocked *how);
    void *ctx;
};

#define HD_LAUNCH_KNOWN_NS \
    (300 * HD_NS_PER_S) /* the library: a program whose loop is known later was not launching */

struct hd_settings {
    uint64_t interval_ns;
    uint64_t threshold_ns[HANGDOG_STATES];
    uint64_t threshold_max_ns; /* of any state and loop: who ends the program for a hang shall not be first */
    uint32_t reports_per_day, reports_per_fingerprint, spool_reports;
    int signal;
    bool without_paths;        /* left out of reports, and peers */
    bool held;                 /* reports wait until the loop is beyond doubt (preload) */
    uint64_t sample_launch_ns; /* no samples of a launch after this age; 0: always */
    uint64_t launch_known_ns;  /* what is known later than this to have been a launch was none; 0: never */
    struct hd_recogniser recogniser;
    struct hd_outbox *outbox; /* for reports that the process may not write; NULL: none */
    /* the worker: hd_note_hang, where nobody has the record when the process dies; else NULL */
    void (*note)(struct hd_worker *worker, struct hd_hang *h, bool over);
    char runtime[HD_RECORD_STRING]; /* for note: a folder in memory; empty: none */
    char app_name[HD_RECORD_STRING], app_version[64], environment[64];
    char spool[4 * HD_RECORD_STRING];
    bool alone;                           /* and nobody else settles them when the process ends */
    char kept_file[5 * HD_RECORD_STRING]; /* that the worker keeps open for the program's exec; empty: none */
};

struct hd_figures {
    uint64_t histogram[HD_TURN_HISTOGRAM], busy_ns, idle_ns;
    struct hd_capture_cost cost;
};

struct hd_monitor {
    uint64_t look_ns; /* the monitor's: how far apart looks at loops that run are; an interval, or less */
    struct hd_settings settings;
    struct hd_record *record;
    _Atomic uint32_t wake;        /* the monitor's futex word: anyone adds one and wakes */
    _Atomic uint32_t worker_wake; /* the worker's: the monitor adds one */
    _Atomic bool stopping;
    _Atomic bool leaving;         /* the process ends */
    _Atomic bool closed;          /* the last look at all watches: one that is NEW later has come too late */
    _Atomic uint32_t worker_done; /* futex word: 1 once the worker has finished */
    _Atomic bool worker_left;     /* it had not, and is not waited for */
    _Atomic uint32_t state;       /* hangdog_state as the program told it */
    _Atomic uint32_t paused;      /* depth */
    _Atomic uint32_t filter;      /* enum hd_filter; a futex word for who installs one */
    _Atomic uint32_t ready;       /* threads of ours that have opened what they keep; a futex word */
    bool ticks_are_tsc;
    struct hd_clock clock; /* the monitor's */
    bool was_paused;
    uint64_t resumed_ns;
    uint64_t told_ns;               /* when the worker was last woken */
    _Atomic uint32_t slots;         /* of `watch` that were ever claimed: the first so many */
    uint64_t published_ns;          /* figures in the record */
    uint64_t looked_ns, planned_ns; /* the last look, and when the next was due */
    struct hd_sched own_sched;      /* when it was last read */
    uint64_t unread_late_ns;        /* summed since then */
    uint64_t overtime_ns; /* that the last look took by waiting for answers, where it made this one late */
    uint64_t own_read_ns; /* when that was, but for reads that a late look made */
    int own_schedstat_fd;
    uint64_t late_max_ns;
    struct hd_budget budget;
    _Atomic uint64_t worker_cpu_ns;
    _Atomic uint32_t open_loop;     /* the worker's: whose hang the record has, while it has one */
    _Atomic uint64_t open_start_ns; /* and which of its turns */
    struct hd_figures past;         /* of watches that are over */
    uint64_t asked_ns;              /* since when every loop is asked to wake us (PARKED); 0: they are not */
    uint64_t awake_until_ns;        /* no park before */
    bool was_parked;                /* the last wait was a park */
    uint64_t wakeups;
    _Atomic int tid;                 /* of the monitor */
    _Atomic int worker_tid, kept_fd; /* settings.kept_file in the worker's table: number + 1 */
    uint32_t followed; /* the monitor's: turns whose begin the worker was told, and not yet the end */
    struct hd_os_thread monitor_thread, worker_thread;
    struct hd_watch watch[HD_BLOCK_LOOPS]; /* the first block; most programs need no other */
    struct hd_worker *worker;
    struct hd_ring ring;
    uint64_t lent_until; /* the monitor's: the buffer of a running thread's stack is the worker's until the
                            ring was read up to here */
    uint64_t told_until; /* the same of the last sample that the worker was woken for */
    /* From here on the next run keeps what there is: threads look at it that do not know yet of the stop. */
    _Atomic uint32_t alive;    /* 0 in a forked child */
    _Atomic uint32_t entering; /* threads that are at the watches: nothing is zeroed under them */
    struct hd_watch *_Atomic more[HD_BLOCKS - 1]; /* blocks of watches, made by who needs them; kept by the
                                                     next run, as the stacks are */
    /* hd_note_hang's, one for each open hang: a file, or memory of our own, but never nothing */
    uint8_t notes[HD_FOLLOWED_MAX + 1][HD_NOTE_BYTES] __attribute__((aligned(HD_NOTE_BYTES)));
    uint8_t monitor_stack[HD_MONITOR_STACK_BYTES] __attribute__((aligned(4096)));
    uint8_t worker_stack[HD_MONITOR_STACK_BYTES] __attribute__((aligned(4096)));
};

/* Of the slots that were ever claimed. */
static inline struct hd_watch *hd_watch_at(const struct hd_monitor *m, unsigned i) {
    return i < HD_BLOCK_LOOPS ? (struct hd_watch *)(uintptr_t)&m->watch[i]
                              : &atomic_load_explicit(&m->more[i / HD_BLOCK_LOOPS - 1],
                                                      memory_order_acquire)[i % HD_BLOCK_LOOPS];
}

/* How long a turn of this loop may last in this state. */
static inline uint64_t hd_threshold_of(const struct hd_monitor *m, const struct hd_watch *w,
                                       hangdog_state state) {
    bool own = state == HANGDOG_STATE_FOREGROUND && w->threshold_ns != 0;
    uint64_t ns = own ? w->threshold_ns : m->settings.threshold_ns[state];
    return ns < m->settings.threshold_max_ns ? ns : m->settings.threshold_max_ns;
}

/* The monitor thread. */
void *hd_monitor_run(void *monitor);

/* The worker thread. */
void *hd_worker_run(void *monitor);
size_t hd_worker_bytes(void);
void hd_worker_init(struct hd_monitor *m,
                    struct hd_worker *k); /* on the worker: its descriptors are of its table */
/* The report of a hang that lasts was written, or the hang is over. For settings.note. */
void hd_note_hang(struct hd_worker *k, struct hd_hang *h, bool over);

/* Wakes the monitor. Any thread; async-signal-safe. */
void hd_monitor_wake(struct hd_monitor *m);

/* Starts with ready settings; the record may be NULL (memory of our own is used then). Internal half of
 * hangdog_start, used by the preload too. *out: the monitor. */
int hd_monitor_start(const struct hd_settings *settings, struct hd_record *record, struct hd_monitor **out);
int hd_monitor_stop(void);
/* Stops it where malloc's locks may be held: what is left of the threads is never waited for. Does nothing
 * when none runs. `goes_on`: the calling thread ends and others may go on, of which libc must see the last
 * end after ours, which are joined; only a worker that is stuck at a disk is left there. */
void hd_monitor_leave(bool goes_on);
/* Waits until our threads have closed what their descriptor tables were born with, and have opened what they
 * keep: a program that goes into another root or gives up rights as the first thing it does would be ahead of
 * them. Not for long, nor beyond `until_ns`. */
void hd_monitor_wait_ready(struct hd_monitor *m, uint64_t until_ns);
void hd_monitor_is_ready(struct hd_monitor *m); /* one of our threads says so */
struct hd_monitor *hd_monitor_current(void);
/* The calling thread, watched, is about to come under a seccomp filter of its own. Returns when nothing of
 * ours will make it do a system call: at once but for a sample that is being taken. `hd_monitor_unfiltered`:
 * it was refused. */
void hd_monitor_filtered(void);
void hd_monitor_unfiltered(void);
/* The calling thread, watched or not, has one, as far as the preload knows. */
extern _Thread_local bool hd_thread_is_filtered;
extern bool hd_any_is_filtered; /* a thread of the program */
#define HD_SIGNAL 23 /* SIGURG on every Linux: ignored by default, so that a late one cannot end anything */
void hd_settings_init(struct hd_settings *s);
/* NULL: not set, or empty. */
const char *hd_environment(const char *name);

/* Watches the calling thread's loop from `start_ns` on, as running; HD_SINCE_LAUNCH: from the run's start, if
 * that thread launches the program, else from now. NULL: no slot or no memory. */
#define HD_SINCE_LAUNCH 0
struct hd_watch *hd_watch_add(struct hd_monitor *m, const char *name, uint64_t threshold_ns,
                              uint64_t start_ns);
/* Waits until the monitor has opened what it keeps of that thread: for a program that makes itself undumpable
 * as the first thing it does, it would be too late. Not for long. */
void hd_watch_wait_open(struct hd_monitor *m, struct hd_watch *w);
void hd_watch_remove(struct hd_monitor *m, struct hd_watch *w);
/* The same for a watch on the calling thread that a stop ends, or has ended: waits for the monitor to have
 * left the thread's stack. */
void hd_watch_leave_stopped(void);

#endif
