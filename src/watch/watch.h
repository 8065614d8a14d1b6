/* SPDX-License-Identifier: MIT
 *
 * The watches, one for each watched loop. The program's threads add and remove watches, and the monitor
 * looks at their loops.
 */
#ifndef HD_WATCH_H
#define HD_WATCH_H

#include "loop/loop.h"
#include "watch/label.h"

#define HD_BLOCK_LOOPS 16 /* the number of watches in a block, whose memory is allocated in one piece */
#define HD_BLOCKS 16
/* The product must not exceed 256, because a message has one byte for the slot's number. */
#define HD_LOOPS_MAX (HD_BLOCK_LOOPS * HD_BLOCKS)

enum hd_watch_use {
    HD_WATCH_FREE,
    HD_WATCH_CLAIMED, /* a thread that adds a watch has taken the slot, and sets the watch's members */
    HD_WATCH_NEW,     /* the monitor is to open the files of the watch's thread in /proc */
    HD_WATCH_ON,      /* the monitor looks at the loop */
    HD_WATCH_LEAVING, /* the monitor is to close the watch; the watch's thread sleeps until `use` is FREE */
};

/* One watched loop. The program's threads, the monitor and the worker read each member, unless its comment
 * names other readers. */
struct hd_watch {
    struct hd_loop loop; /* must be first, since the public handle is a pointer to it */

    /* The monitor, and the thread that adds or removes the watch, write the members from here to `ping`. */
    /* enum hd_watch_use; a futex word, on which a thread sleeps until its watch is open or closed */
    _Atomic uint32_t use;
    _Atomic uint8_t index; /* the slot's number, as hd_watch_at() takes it; set before `use` becomes NEW */
    _Atomic uint32_t generation; /* the number of watches that the slot has had so far, with this one */
    /* The name of the watch. Each byte is read and written atomically, because the worker may still read this
     * name while the slot's next watch stores its own name. */
    char name[32];
    /* The threshold while the program is in the foreground. 0: the threshold is that of the settings. Any
     * thread may change this member. */
    _Atomic uint64_t threshold_ns;
    _Atomic uint64_t since_ns; /* when the watch started; its first turn may have started before */
    /* The memory that the watch's thread uses when it answers the monitor's signals. NULL: another watch of
     * this thread has that memory. */
    void *thread_memory;
    /* The thread memory of an earlier watch in this slot. That watch's thread left it here, because the
     * monitor did not close the watch in time. The slot's next watch takes this memory. NULL: there is none.
     */
    void *_Atomic left;
    /* The mailbox by which the monitor asks the watch's thread for its stack; a part of `thread_memory`.
     * NULL: another watch of this thread has the mailbox. */
    struct hd_mailbox *mailbox;
    struct hd_label label;        /* the watch's thread writes it */
    struct hd_ping *_Atomic ping; /* the loop's pings (control/ping.c); NULL: the loop has none */

    /* The worker writes the members of this struct, and the monitor reads them at each look. The monitor sets
     * changed_ns to 0 when it opens the watch. */
    struct {
        _Atomic uint64_t changed_ns; /* when a sample last differed from the one before it */
        /* true: the worker needs each sample, even a sample that equals the one before it */
        _Atomic bool wants_equal;
        /* For a fatal marker (publish/fatal_marker.h): the address at which the monitor stores the duration
         * of the hang that started at fatal_marker_start_ns. NULL: the monitor stores no duration. */
        _Atomic uint64_t *_Atomic fatal_marker;
        _Atomic uint64_t fatal_marker_start_ns;
    } worker;
};

/* The order of members matters: the next start of Hangdog zeroes the members before `entering`, and no other
 * members. */
struct hd_watch_table {
    /* the number of slots that have ever had a watch; these are the slots 0 to slots - 1 */
    _Atomic uint32_t slots;
    uint32_t monitor_bytes; /* the size of the monitor's own data for one watch; set before Hangdog starts */
    struct hd_watch watch[HD_BLOCK_LOOPS]; /* the first block; most programs need no other */
    /* the number of threads that add, remove or use watches now; while it is not 0, no start of Hangdog
     * zeroes the watches */
    _Atomic uint32_t entering;
    /* The blocks after the first one. A thread that adds a watch allocates a block if it needs one. Each such
     * block has watches, and behind them the monitor's own data for these watches. */
    struct hd_watch *_Atomic more[HD_BLOCKS - 1];
};

/* Returns the watch in slot `index`, which must be below hd_watch_slots(). */
struct hd_watch *hd_watch_at(const struct hd_watch_table *t, unsigned index);

/* Returns where the monitor's own data for the block of slot `index` is. Do not call it for a slot of the
 * first block, because the monitor has other memory for those slots. */
void *hd_watch_monitor_memory(const struct hd_watch_table *t, unsigned index);

/* Returns the number of slots that have ever had a watch. A caller must not read slots from this number on,
 * because their memory is unused or not allocated yet. */
static inline unsigned hd_watch_slots(const struct hd_watch_table *t) {
    return atomic_load_explicit(&t->slots, memory_order_acquire);
}

/* Returns the first watch whose `use` is HD_WATCH_ON, from slot *i on, and sets *i to the slot behind that
 * watch. Returns NULL if there is no further one. */
struct hd_watch *hd_watch_next_on(const struct hd_watch_table *t, unsigned *i);

/* Returns the first watch of `thread` whose `use` is HD_WATCH_ON, or NULL if there is none. On the monitor
 * thread or the worker thread. */
struct hd_watch *hd_watch_of_thread(const struct hd_watch_table *t, hd_thread_id thread);

/* Takes a free slot, and allocates the slot's block if no thread has done so yet. Returns NULL if there is no
 * free slot or no memory for the block. Any thread. */
struct hd_watch *hd_watch_claim(struct hd_watch_table *t);

/* Zeroes the blocks after the first one, and frees the thread memory that is left in slots (hd_watch.left).
 * Call it before the next start of Hangdog, while `entering` is 0. */
void hd_watch_clear_all(struct hd_watch_table *t);

/* Frees all blocks but the first, which is part of the table. No thread uses the table any more. */
void hd_watch_give_blocks(struct hd_watch_table *t);

#endif
