/* SPDX-License-Identifier: MIT
 *
 * The waits of one watched thread. The thread compares each wait with the last one by a key: return address,
 * stack pointer, and descriptor numbers or epoll instance. It reads the verdict, and makes two marks. The
 * worker finds out what a key's waits are (recognition.h), from a copy of the stack that the thread makes
 * when the key is new. All functions here run on the watched thread, wait-free and async-signal-safe, but
 * where they say otherwise.
 */
#ifndef HD_WAIT_TABLE_H
#define HD_WAIT_TABLE_H

#include <poll.h>
#include <sys/select.h>

#include "preload/waits/stack_copy.h"
#include "watch/run.h"

#define HD_WAIT_ENTRIES 96u

/* The waits of one key. The thread writes all members but those of the worker. */
struct hd_wait_entry {
    _Alignas(64) uint64_t key; /* 0: a free slot */
    _Atomic uint8_t verdict;   /* enum hd_wait_verdict; the worker's */
    _Atomic uint8_t resolved;  /* the worker has read the stack; the thread clears it for a new key */
    _Atomic uint32_t uses;     /* grows by two with each new key; odd: the thread is changing the key */
    struct hd_wait_sums {
        _Atomic uint64_t waits, ticks; /* their number, and their time in all */
        _Atomic uint64_t order;        /* number of the last one among the thread's waits */
        _Atomic uint64_t ended;        /* ticks: when the last one ended */
        _Atomic uint64_t first_began;  /* ticks: when the first one began */
    } sums;
    struct hd_unknown_wait {
        _Atomic uint64_t began,
            ended; /* ticks: of the last wait that was not known as the loop's when it began */
    } unknown;
    uint64_t caller_sp;
    struct hd_wait_descriptors descriptors;
};

struct hd_recognition; /* recognition.h: the worker's side */

/* The kernel wipes this memory in a forked child, so that the child's thread is not watched. */
struct hd_wait_table {
    /* One cache line: all that the loop's own wait touches. */
    _Alignas(64) struct hd_watch *_Atomic watch; /* NULL: the thread is not watched */
    struct hd_loop *_Atomic loop; /* the watch's. Stays when `watch` is NULL again: its memory stays mapped */
    struct hd_last_wait {
        struct hd_wait_entry *entry;
        const void *caller, *frame;
        uint64_t hash;
    } last;
    _Atomic uint64_t order; /* waits so far */
    /* The slow path's. */
    uint64_t woke_ticks;    /* when the thread last woke a parked monitor for a wait of unknown meaning */
    _Atomic bool slow_path; /* the thread is changing the table: waits of a signal handler do not count */
    bool named;             /* a thread that the user names, not the main thread */
    uint64_t stack_top;     /* of the main thread's stack; 0: not known */
    struct hd_wait_entry entry[HD_WAIT_ENTRIES];
    struct hd_stack_copies copies;
    struct hd_recognition *recognition;
};

/* The calling thread's table; NULL: it has none. */
extern _Thread_local struct hd_wait_table *hd_wait_table_self;

/* preload/attach sets these before any thread waits. */
extern struct hd_wait_hooks {
    /* The calling thread waits and has a table that is not watched. Returns its table if it is watched from
     * now on, else NULL. */
    struct hd_wait_table *(*first_wait)(void);
} hd_wait_hooks;

/* The arguments of a wait. The descriptors are read only for a new key. */
struct hd_wait_call {
    uint64_t hash;             /* of the descriptors */
    const struct pollfd *poll; /* `n` of them, or NULL */
    const fd_set *select[3];   /* numbers below `n`; each may be NULL */
    int epoll;                 /* the epoll instance, a library (descriptors.h), or -1 */
    uint32_t epoll_generation;
    uint64_t n;
};

struct hd_waiting {
    struct hd_wait_table *waits; /* NULL: this wait does not count */
    struct hd_wait_entry *entry;
    uint64_t began; /* ticks */
    bool blocks;    /* the timeout is not zero */
    bool idle;      /* the wait was known as the loop's when it began */
};

/* The entry of this key; a new key takes a slot. */
struct hd_wait_entry *hd_wait_table_find(struct hd_wait_table *t, uint64_t key,
                                         const struct hd_wait_call *call, uint64_t caller_sp);

/* longjmp or an exception takes the thread out of a wait, if it is in one. */
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

/* Around the real call, with the interposed function's return address and frame. errno stays. */
void hd_wait_begin(struct hd_waiting *w, const struct hd_wait_call *call, bool blocks, const void *caller,
                   const void *frame);
void hd_wait_end(struct hd_waiting *w);

/* The fast path, and the whole cost of a usual turn: the wait is the last one again, and the loop's. */
static inline bool hd_wait_is_the_loops(const struct hd_wait_table *t, uint64_t hash, const void *caller,
                                        const void *frame) {
    return t->watch != NULL && t->last.hash == hash && t->last.caller == caller && t->last.frame == frame &&
           atomic_load_explicit(&t->last.entry->verdict, memory_order_relaxed) == HD_WAIT_IDLE;
}

/* Uses the loop, which stays mapped: another thread may have ended the watch. */
static inline uint64_t hd_wait_loop_begin(struct hd_wait_table *t) {
    return hd_loop_before_wait(t->loop);
}

static inline void hd_wait_loop_end(struct hd_wait_table *t, struct hd_wait_entry *entry, uint64_t began) {
    struct hd_watch *watch = t->watch;
    if (watch != NULL) { /* NULL: a forked child, whose table was wiped in the wait */
        hd_wait_sum(t, entry, began, hd_loop_after_wait(&watch->loop));
    }
}

/* After a wait with zero timeout: one turn ends, the next starts. */
static inline void hd_wait_loop_polled(struct hd_wait_table *t) {
    struct hd_watch *watch = t->watch;
    if (watch != NULL) {
        hd_loop_turn(&watch->loop);
    }
}

#endif
