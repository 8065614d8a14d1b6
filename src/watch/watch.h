/* SPDX-License-Identifier: MIT
 *
 * The watches, one for each watched loop. The program's threads add and remove watches, and the monitor
 * looks at their loops.
 */
#ifndef HD_WATCH_H
#define HD_WATCH_H

#include "loop/loop.h"

#define HD_BLOCK_LOOPS 16 /* the number of watches in a block; the memory of a block is allocated at once */
#define HD_BLOCKS 16
/* at most 256, because a message has one byte for the slot */
#define HD_LOOPS_MAX (HD_BLOCK_LOOPS * HD_BLOCKS)

enum hd_watch_use {
    HD_WATCH_FREE,
    HD_WATCH_CLAIMED, /* the thread that adds the watch fills it in */
    HD_WATCH_NEW,     /* the monitor is to open the files of the watch's thread */
    HD_WATCH_ON,      /* the monitor looks at the loop */
    HD_WATCH_LEAVING, /* the monitor is to close the watch; the watch's thread waits for FREE */
};

/* One watched loop. The program's threads, the monitor and the worker read each member, unless its comment
 * names other readers. */
struct hd_watch {
    struct hd_loop loop; /* must be first, since the public handle is a pointer to it */

    /* The thread that adds or removes the watch writes these members, and so does the monitor. */
    _Atomic uint32_t use;        /* enum hd_watch_use; a futex word for the thread that removes the watch */
    _Atomic uint8_t index;       /* the slot, as hd_watch_at() takes it. Set before `use` becomes NEW */
    _Atomic uint32_t generation; /* the number of watches that the slot has had so far */
    /* Each byte is atomic, because the worker may read this name while the slot's next watch sets its
     * own. */
    char name[32];
    /* the threshold in the foreground; 0: as in the settings. Any thread may change it */
    _Atomic uint64_t threshold_ns;
    _Atomic uint64_t since_ns; /* when the watch started; its first turn may have started before */
    /* the memory with which the thread answers signals; NULL: another watch of this thread has it */
    void *thread_memory;
    /* The thread memory of an earlier watch. It is here if that watch's thread stopped waiting for the
     * monitor to close the watch. The next watch takes this memory. */
    void *_Atomic left;
    struct hd_mailbox *mailbox;   /* in `thread_memory`; NULL: another watch of this thread has it */
    struct hd_ping *_Atomic ping; /* the loop's pings (control/ping.c); NULL: there are none */

    /* The worker writes these members, and the monitor reads them at each look. */
    struct {
        _Atomic uint64_t changed_ns; /* when a sample last differed from the one before it */
        /* true: the worker needs each sample, even one that equals the sample before it */
        _Atomic bool wants_equal;
        /* where the monitor stores the duration of the hang that started at fatal_marker_start_ns; NULL:
         * nowhere */
        _Atomic uint64_t *_Atomic fatal_marker;
        _Atomic uint64_t fatal_marker_start_ns;
    } worker;
};

/* The order of members matters: the next start of Hangdog zeroes the members before `entering`, and no
 * others. */
struct hd_watch_table {
    _Atomic uint32_t slots; /* the number of slots, from the first one on, that have ever had a watch */
    uint32_t monitor_bytes; /* size of the monitor's memory for one watch; set before the start */
    struct hd_watch watch[HD_BLOCK_LOOPS]; /* the first block; most programs need no other */
    /* the number of threads that use the watches now; while it is not 0, no start zeroes the watches */
    _Atomic uint32_t entering;
    /* Further blocks. The thread that needs a block allocates it. A block has its watches, and behind them
     * the monitor's memory for each. */
    struct hd_watch *_Atomic more[HD_BLOCKS - 1];
};

/* Returns the watch in a slot, which must be below hd_watch_slots(). */
struct hd_watch *hd_watch_at(const struct hd_watch_table *t, unsigned index);

/* Returns the monitor's memory for the block of this slot. Do not call it for the first block, for which the
 * monitor has memory of its own. */
void *hd_watch_monitor_memory(const struct hd_watch_table *t, unsigned index);

/* Returns the number of slots that have ever had a watch. Read no slot from this number on: its memory is
 * unused, or not allocated yet. */
static inline unsigned hd_watch_slots(const struct hd_watch_table *t) {
    return atomic_load_explicit(&t->slots, memory_order_acquire);
}

/* Returns the first watch that is ON in slot *i or behind it, and sets *i to the slot behind that watch.
 * NULL: there is no further one. */
struct hd_watch *hd_watch_next_on(const struct hd_watch_table *t, unsigned *i);

/* Returns the watch that belongs to this thread and is ON. NULL: there is none. On the monitor thread or the
 * worker thread. */
struct hd_watch *hd_watch_of_thread(const struct hd_watch_table *t, hd_thread_id thread);

/* Claims a free slot, and allocates its block if that is a new one. NULL: there is no free slot, or no
 * memory. Any thread. */
struct hd_watch *hd_watch_claim(struct hd_watch_table *t);

/* Zeroes the further blocks, and frees the memory that threads have left in the watches. Call it before the
 * next start, while `entering` is 0. */
void hd_watch_clear_all(struct hd_watch_table *t);

#endif
