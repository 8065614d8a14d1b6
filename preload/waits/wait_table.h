/* SPDX-License-Identifier: MIT
 *
 * The table of one watched thread's waits. Each wait has a key, made from a return address, the stack
 * pointer, and the descriptor numbers or the epoll instance. At each wait the thread compares the key with
 * the last wait's key, reads the verdict in the key's entry, and makes two marks. If a key is new, the thread
 * also copies its stack. From the copy the worker finds out whose wait this is (recognition.h). The functions
 * here run on the watched thread, unless their comment names another; they are wait-free and
 * async-signal-safe.
 */
#ifndef HD_WAIT_TABLE_H
#define HD_WAIT_TABLE_H

#include <poll.h>
#include <sys/select.h>

#include "preload/waits/stack_copy.h"
#include "watch/run.h"

#define HD_WAIT_ENTRIES 96u

/* The data of all waits with one key. The watched thread writes the members, unless a member's comment names
 * the worker. */
struct hd_wait_entry {
    _Alignas(64) uint64_t key; /* 0: the entry is free */
    _Atomic uint8_t verdict;   /* enum hd_wait_verdict; the worker writes it */
    /* True once the worker has read a copy of the stack for this key. The worker sets this flag. The thread
     * clears the flag when it gives the entry another key. */
    _Atomic uint8_t resolved;
    _Atomic uint32_t uses; /* grows by two with each new key; it is odd while the thread changes the key */
    struct hd_wait_sums {
        /* the number of the key's waits that have ended, and their total time in ticks */
        _Atomic uint64_t waits, ticks;
        /* the number of the key's last wait, in the order of all waits of the thread */
        _Atomic uint64_t order;
        _Atomic uint64_t ended;       /* unit: ticks; the time when the key's last wait ended */
        _Atomic uint64_t first_began; /* unit: ticks; the time when the key's first wait began */
    } sums;
    struct hd_unknown_wait {
        /* Unit: ticks. The times when a wait began and ended: the last wait with this key that was not known
         * as the loop's own when it began. */
        _Atomic uint64_t began, ended;
    } unknown;
    uint64_t caller_sp;
    struct hd_wait_descriptors descriptors;
};

struct hd_recognition; /* the worker's part of a wait table, defined in recognition.h */

/* The waits of one watched thread. The kernel wipes this memory in a forked child, so `watch` is NULL there,
 * and the child's thread is not watched. */
struct hd_wait_table {
    /* If a wait is the loop's own, the thread uses only the members of this struct up to `order`, which fill
     * one cache line. */
    _Alignas(64) struct hd_watch *_Atomic watch; /* NULL: the thread is not watched */
    /* The loop of the thread's watch. This pointer stays set after the watch has ended and `watch` is NULL
     * again, since the loop's memory stays mapped. */
    struct hd_loop *_Atomic loop;
    struct hd_last_wait {
        struct hd_wait_entry *entry;
        const void *caller, *frame;
        uint64_t hash;
    } last;
    _Atomic uint64_t order; /* the number of the thread's waits that have ended */

    /* The fast path (hd_wait_is_the_loops) does not use the members below. */

    /* The time in ticks when the thread last woke a parked monitor after a wait that was not known as the
     * loop's. */
    uint64_t woke_ticks;
    /* True while the thread changes this table. If a signal handler of the program waits during this time,
     * Hangdog does not count the handler's wait. */
    _Atomic bool slow_path;
    /* The library's own wait that the thread is in (event_libraries.c); NULL: none, or its wait is over. */
    struct hd_waiting *library;
    int32_t accepted;   /* the descriptor of the last accepted connection, plus 1; 0: none */
    int32_t listener;   /* the descriptor that `accepted` came from */
    bool named;         /* true: the user named this thread (--thread); false: it is the main thread */
    bool pool;          /* true: a thread of a pool whose threads take turns in one loop (tokio) */
    bool silent;        /* true: the thread's loop does not count, since the main thread has one */
    uint64_t stack_top; /* an address above all frames of the main thread; 0: not known */
    struct hd_wait_entry entry[HD_WAIT_ENTRIES];
    struct hd_stack_copies copies;
    struct hd_recognition *recognition;
};

/* The wait table of the calling thread. NULL: this thread has no wait table. */
extern _Thread_local struct hd_wait_table *hd_wait_table_self;

/* Pointers to functions of preload/attach. The code there sets them before any thread waits. */
extern struct hd_wait_hooks {
    /* Called at each wait of a thread that has a table and is not watched. Returns the thread's table if the
     * thread is watched from now on, otherwise NULL. */
    struct hd_wait_table *(*first_wait)(void);
} hd_wait_hooks;

/* The arguments of a wait function. Hangdog stores the descriptors of a wait only if the wait's key is new;
 * otherwise the key's entry in the wait table has them already. */
struct hd_wait_call {
    uint64_t hash; /* hash of the descriptors */
    /* the argument of poll: an array of `n` elements; NULL: the wait is not a poll */
    const struct pollfd *poll;
    /* the arguments of select: sets of descriptor numbers below `n`; each may be NULL */
    const fd_set *select[3];
    /* the number of the epoll instance, or of a library (descriptors.h); -1: the wait is for neither */
    int epoll;
    uint32_t epoll_generation;
    uint64_t n;
    bool accepts; /* true: the call is accept on poll[0] */
};

struct hd_waiting {
    struct hd_wait_table *waits; /* the thread's table; NULL: Hangdog does not count this wait */
    struct hd_wait_entry *entry;
    uint64_t began; /* ticks */
    bool blocks;    /* true: the timeout is not zero */
    bool idle;      /* true: the wait was known as the loop's own when it began */
    bool inner;     /* true: the wait is inside a library's own wait, which is idle */
    bool over;      /* true: the wait has ended, but the library's function still runs */
};

/* Returns the table's entry with this key. If no entry has the key, a free entry gets it. If no entry is
 * free, the key replaces the key of another entry. */
struct hd_wait_entry *hd_wait_table_find(struct hd_wait_table *t, uint64_t key,
                                         const struct hd_wait_call *call, uint64_t caller_sp);

/* True: waits with these descriptors, at this call site, are known as the loop's own. */
bool hd_wait_was_idle(const struct hd_wait_table *t, uint64_t hash, const void *caller, const void *frame);

/* Hangdog calls this function when longjmp or an exception takes the thread out of functions that have not
 * returned. If the thread is in a wait, this function ends the wait. */
void hd_wait_jumped(struct hd_wait_table *t);

static inline void hd_wait_sum(struct hd_wait_table *t, struct hd_wait_entry *entry, uint64_t began,
                               uint64_t ended) {
    uint64_t order = atomic_load_explicit(&t->order, memory_order_relaxed) + 1;
    HD_OWNER_ADD(entry->sums.waits, 1);
    HD_OWNER_ADD(entry->sums.ticks, ended - began);
    atomic_store_explicit(&entry->sums.ended, ended, memory_order_relaxed);
    atomic_store_explicit(&t->order, order, memory_order_relaxed);
    atomic_store_explicit(&entry->sums.order, order, memory_order_relaxed);
}

/* Hangdog's wrapper calls these two functions before and after the real wait function. `caller` is the
 * wrapper's return address, and `frame` is the address of the wrapper's frame. Both functions preserve
 * errno. */
void hd_wait_begin(struct hd_waiting *w, const struct hd_wait_call *call, bool blocks, const void *caller,
                   const void *frame);
void hd_wait_end(struct hd_waiting *w);

/* True if a wait has the key of the thread's last wait, and is known as the loop's own. In a usual turn,
 * Hangdog's whole work on the watched thread is this check and two marks. */
static inline bool hd_wait_is_the_loops(const struct hd_wait_table *t, uint64_t hash, const void *caller,
                                        const void *frame) {
    return t->watch != NULL && t->last.hash == hash && t->last.caller == caller && t->last.frame == frame &&
           atomic_load_explicit(&t->last.entry->verdict, memory_order_relaxed) == HD_WAIT_IDLE;
}

/* Makes the mark before a wait of the loop, and returns the mark's time in ticks. This function uses t->loop
 * and not t->watch. Another thread may have ended the watch and set t->watch to NULL, but the loop's memory
 * stays mapped. */
static inline uint64_t hd_wait_loop_begin(struct hd_wait_table *t) {
    return hd_loop_before_wait(t->loop);
}

static inline void hd_wait_loop_end(struct hd_wait_table *t, struct hd_wait_entry *entry, uint64_t began) {
    struct hd_watch *watch = t->watch;
    /* `watch` is NULL in two cases: the watch has ended, or the process is a forked child, whose table the
     * kernel wiped during the wait. */
    if (watch != NULL) {
        hd_wait_sum(t, entry, began, hd_loop_after_wait(&watch->loop));
    }
}

/* Hangdog's wrapper calls this function after a wait of the loop that had a zero timeout. One turn ends at
 * this wait, and the next starts. */
static inline void hd_wait_loop_polled(struct hd_wait_table *t) {
    struct hd_watch *watch = t->watch;
    if (watch != NULL) {
        hd_loop_turn(&watch->loop);
    }
}

#endif
