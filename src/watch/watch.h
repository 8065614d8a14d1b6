/* SPDX-License-Identifier: MIT
 *
 * The watches, one for each watched loop. The program's threads add and remove them, the monitor looks at
 * them.
 */
#ifndef HD_WATCH_H
#define HD_WATCH_H

#include "loop/loop.h"

#define HD_BLOCK_LOOPS 16 /* watches of one block, which is taken at once */
#define HD_BLOCKS 16
#define HD_LOOPS_MAX (HD_BLOCK_LOOPS * HD_BLOCKS) /* a message has one byte for the index */

enum hd_watch_use {
    HD_WATCH_FREE,
    HD_WATCH_CLAIMED, /* its thread fills it */
    HD_WATCH_NEW,     /* the monitor is to open its files */
    HD_WATCH_ON,      /* the monitor looks at it */
    HD_WATCH_LEAVING, /* the monitor is to close it; its thread waits for FREE */
};

/* One watched loop. The threads that read a member are the program's, the monitor and the worker, if no other
 * is named. */
struct hd_watch {
    struct hd_loop loop; /* first: the public handle */

    /* The thread that adds or removes it, and the monitor. */
    _Atomic uint32_t use;        /* enum hd_watch_use; a futex word for the thread that removes it */
    uint8_t index;               /* of the slot: hd_watch_at() */
    _Atomic uint32_t generation; /* how many watches its slot has had */
    char name[32]; /* each byte is atomic: the worker may read it while the slot's next watch sets it */
    _Atomic uint64_t threshold_ns; /* in the foreground; 0: as in the settings. Any thread may change it */
    _Atomic uint64_t since_ns;     /* start of the watch; its first turn may have started before */
    void *thread_memory;           /* hd_capture_thread_bytes(); NULL: another watch of this thread has it */
    void *_Atomic left;            /* thread memory that a thread left before the monitor closed the watch */
    struct hd_mailbox *mailbox;    /* in the thread memory */
    struct hd_ping *_Atomic ping;  /* control/ping.c; NULL: the loop is not pinged */

    /* The worker; the monitor reads them at each look. */
    struct {
        _Atomic uint64_t changed_ns; /* when a sample last differed from the one before it */
        _Atomic bool wants_equal;    /* the worker needs each sample, also equal ones */
        /* where the monitor stores the duration of the hang that started then; NULL: nowhere */
        _Atomic uint64_t *_Atomic fatal_marker;
        _Atomic uint64_t fatal_marker_start_ns;
    } worker;
};

/* The order matters: a next start zeroes all up to `entering`, and nothing from there on. */
struct hd_watch_table {
    _Atomic uint32_t slots;                /* the first so many were claimed at some time */
    uint32_t monitor_bytes;                /* the monitor's memory for each watch; set before the start */
    struct hd_watch watch[HD_BLOCK_LOOPS]; /* the first block; most programs need no other */
    _Atomic uint32_t entering;             /* threads that read or write the watches: no start zeroes them */
    /* Further blocks, taken by the threads that need them: the watches, and behind them the monitor's memory
     * for each. */
    struct hd_watch *_Atomic more[HD_BLOCKS - 1];
};

/* The watch of a slot that was claimed at some time. */
struct hd_watch *hd_watch_at(const struct hd_watch_table *t, unsigned index);

/* The monitor's memory for the watches of a further block, that this slot is in. */
void *hd_watch_monitor_memory(const struct hd_watch_table *t, unsigned index);

/* How many slots were claimed at some time: the memory of the others is not touched. */
static inline unsigned hd_watch_slots(const struct hd_watch_table *t) {
    return atomic_load_explicit(&t->slots, memory_order_acquire);
}

/* The first watch that is ON from slot *i, with *i behind it; NULL: there is no further one. */
struct hd_watch *hd_watch_next_on(const struct hd_watch_table *t, unsigned *i);

/* The watch that is on for this thread; NULL: it has none. Monitor or worker. */
struct hd_watch *hd_watch_of_thread(const struct hd_watch_table *t, hd_thread_id thread);

/* Claims a free slot, and takes memory for its block where that is a new one. NULL: there is no slot, or no
 * memory. Any thread. */
struct hd_watch *hd_watch_claim(struct hd_watch_table *t);

/* Before the next run, while no thread has entered: zeroes the further blocks, and gives memory back that
 * threads left. */
void hd_watch_clear_all(struct hd_watch_table *t);

#endif
