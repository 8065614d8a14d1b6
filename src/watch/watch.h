/* SPDX-License-Identifier: MIT
 *
 * The watches: one for each watched loop, made and removed by the program's threads, looked at by the
 * monitor. Each member says who writes it.
 */
#ifndef HD_WATCH_H
#define HD_WATCH_H

#include "capture/capture.h"
#include "detect/turn_state.h"
#include "loop/loop.h"

#define HD_BLOCK_LOOPS 16 /* watches are made so many at a time */
#define HD_BLOCKS 16
#define HD_LOOPS_MAX (HD_BLOCK_LOOPS * HD_BLOCKS) /* messages have a byte for them */

enum hd_watch_use {
    HD_WATCH_FREE,
    HD_WATCH_CLAIMED, /* its thread is filling it */
    HD_WATCH_NEW,     /* the monitor is to open its files */
    HD_WATCH_ON,
    HD_WATCH_LEAVING, /* its thread waits for FREE */
};

/* What the monitor keeps of a loop from one look to the next. */
struct hd_look_state {
    struct hd_target target;
    struct hd_turn_state turn;
    struct hd_sched sched; /* at the last look */
    bool sched_valid;
    struct hd_sched begun; /* when the running turn was first seen, at begun_ns */
    uint64_t begun_ns;
    bool begun_valid;
    uint64_t begun_turn;
    uint64_t late_max_ns;  /* of the looks since then */
    uint64_t pause_max_ns; /* before: `target` counts anew with each turn */
    bool blocked;          /* the last sample found it blocked */
    bool certain_sent;
    bool followed;         /* the worker follows the turn that is tracked */
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
    uint64_t last_busy_ns; /* busy in the last sum that had turns, by the counter */
    uint64_t stopped_ns;   /* of the record: so much of it is taken off, or was there before */
    uint64_t next_ns;
};

/* One watched loop. */
struct hd_watch {
    struct hd_loop loop;         /* first: the public handle */
    _Atomic uint32_t use;        /* enum hd_watch_use; a futex word for the leaver */
    _Atomic uint64_t changed_ns; /* the worker: when a sample last differed from the one before it */
    _Atomic bool wants_equal; /* the same: of each sample something is asked, also of those that are alike */
    /* the worker's: where the duration of the hang that began then is kept current; NULL: nowhere */
    _Atomic uint64_t *_Atomic note;
    _Atomic uint64_t note_start_ns;
    uint8_t index;                 /* hd_watch_at() */
    _Atomic uint32_t generation;   /* of the slot: its watches are counted */
    char name[32];                 /* atomic, as since_ns: may change while the worker reads them */
    _Atomic uint64_t threshold_ns; /* foreground; 0: the option's. May change meanwhile */
    _Atomic uint64_t since_ns;     /* watched; its first turn may have begun before */
    void *thread_memory;           /* hd_capture_thread_bytes() */
    void *_Atomic left;            /* the same of a watch that its thread left before it was closed */
    struct hd_mailbox *mailbox;
    struct hd_ping *_Atomic ping; /* control/ping.c; NULL: the loop is not pinged */
    struct hd_look_state look;    /* the monitor's */
};

struct hd_watch_table {
    _Atomic uint32_t slots;                /* that were ever claimed: the first so many */
    struct hd_watch watch[HD_BLOCK_LOOPS]; /* the first block; most programs need no other */
    /* From here on the next run keeps what there is. */
    _Atomic uint32_t entering; /* threads that are at the watches: nothing is zeroed under them */
    struct hd_watch *_Atomic more[HD_BLOCKS - 1]; /* blocks of watches, made by the threads that need them */
};

/* Of the slots that were ever claimed. */
static inline struct hd_watch *hd_watch_at(const struct hd_watch_table *t, unsigned i) {
    return i < HD_BLOCK_LOOPS ? (struct hd_watch *)(uintptr_t)&t->watch[i]
                              : &atomic_load_explicit(&t->more[i / HD_BLOCK_LOOPS - 1],
                                                      memory_order_acquire)[i % HD_BLOCK_LOOPS];
}

/* Slots that have ever been in use: the others' memory is left cold. */
static inline unsigned hd_watch_slots(const struct hd_watch_table *t) {
    return atomic_load_explicit(&t->slots, memory_order_acquire);
}

/* The watch that is on at slot *i or behind it, with *i behind that one; NULL: no more. */
static inline struct hd_watch *hd_watch_next_on(const struct hd_watch_table *t, unsigned *i) {
    for (unsigned n = hd_watch_slots(t); *i < n;) {
        struct hd_watch *w = hd_watch_at(t, (*i)++);
        if (atomic_load_explicit(&w->use, memory_order_acquire) == HD_WATCH_ON) {
            return w;
        }
    }
    return NULL;
}

/* The watch that is on for this thread; NULL: it has none. Monitor or worker. */
struct hd_watch *hd_watch_of_thread(const struct hd_watch_table *t, hd_thread_id thread);

struct hd_run; /* watch/run.h */

/* Watches the calling thread's loop from `start_ns` on, as running; HD_SINCE_LAUNCH: from the run's start, if
 * that thread launches the program, else from now. NULL: no slot or no memory. */
#define HD_SINCE_LAUNCH 0
struct hd_watch *hd_watch_add(struct hd_run *r, const char *name, uint64_t threshold_ns, uint64_t start_ns);
/* From here to hd_watch_leave() the watches are not zeroed by a next start. False: a stop was quicker. */
bool hd_watch_enter(struct hd_run *r);
void hd_watch_leave(struct hd_run *r);
/* Waits until the monitor has opened what it keeps of that thread: for a program that makes itself undumpable
 * as the first thing it does, it would be too late. Not for long. */
void hd_watch_wait_open(struct hd_run *r, struct hd_watch *w);
void hd_watch_remove(struct hd_run *r, struct hd_watch *w);
/* The same for a watch on the calling thread that a stop ends, or has ended: waits for the monitor to have
 * left the thread's stack. */
void hd_watch_leave_stopped(void);
/* Before the next run; what threads have left is given back. No thread is at the watches. */
void hd_watch_clear_all(struct hd_watch_table *t);

#endif
