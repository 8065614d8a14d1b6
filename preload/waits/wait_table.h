/* SPDX-License-Identifier: MIT
 *
 * The table of one watched thread's waits. Each wait has a key: return address, stack pointer, and descriptor
 * numbers or epoll instance. At each wait the thread compares the key with the last wait's key, reads the
 * verdict in the key's entry, and makes two marks. If a key is new, the thread also copies its stack. From
 * the copy the worker finds out which wait this is (recognition.h). The functions here run on the watched
 * thread, unless their comment names another; they are wait-free and async-signal-safe.
 */
#ifndef HD_WAIT_TABLE_H
#define HD_WAIT_TABLE_H

#include <poll.h>
#include <sys/select.h>

#include "preload/waits/stack_copy.h"
#include "watch/run.h"

#define HD_WAIT_ENTRIES 96u

/* All waits with one key. The thread writes the members, unless a member's comment names the worker. */
struct hd_wait_entry {
    _Alignas(64) uint64_t key; /* 0: the entry is free */
    _Atomic uint8_t verdict;   /* enum hd_wait_verdict; the worker writes it */
    /* True once the worker has read the stack for this key. The thread clears it when it changes the key. */
    _Atomic uint8_t resolved;
    _Atomic uint32_t uses; /* grows by two with each new key; odd while the thread changes the key */
    struct hd_wait_sums {
        _Atomic uint64_t waits, ticks; /* the number of waits that have ended, and the sum of their ticks */
        /* the number of the last of these waits, in the order of the thread's waits */
        _Atomic uint64_t order;
        _Atomic uint64_t ended;       /* unit: ticks; the time when the last of these waits ended */
        _Atomic uint64_t first_began; /* unit: ticks; the time when the first of these waits began */
    } sums;
    struct hd_unknown_wait {
        /* Unit: ticks. Start and end of the last wait that was not known as the loop's when it began. */
        _Atomic uint64_t began, ended;
    } unknown;
    uint64_t caller_sp;
    struct hd_wait_descriptors descriptors;
};

struct hd_recognition; /* the worker's part, defined in recognition.h */

/* The kernel wipes this memory in a forked child, so the child's thread is not watched. */
struct hd_wait_table {
    /* The loop's own wait reads and writes only the members up to `order`. They fill one cache line. */
    _Alignas(64) struct hd_watch *_Atomic watch; /* NULL: the thread is not watched */
    /* The loop of the watch. Stays set when `watch` is NULL again, since the loop's memory stays mapped. */
    struct hd_loop *_Atomic loop;
    struct hd_last_wait {
        struct hd_wait_entry *entry;
        const void *caller, *frame;
        uint64_t hash;
    } last;
    _Atomic uint64_t order; /* the number of the thread's waits so far */

    /* Only the slow path uses the members below. */

    /* The time in ticks when the thread last woke a parked monitor for a wait of unknown meaning. */
    uint64_t woke_ticks;
    /* True while the thread changes the table. The waits of a signal handler are ignored in this time. */
    _Atomic bool slow_path;
    bool named;         /* true: the user named this thread (--thread); false: it is the main thread */
    uint64_t stack_top; /* an address above all frames of the main thread; 0: not known */
    struct hd_wait_entry entry[HD_WAIT_ENTRIES];
    struct hd_stack_copies copies;
    struct hd_recognition *recognition;
};

/* The table of the calling thread. NULL: the thread has none. */
extern _Thread_local struct hd_wait_table *hd_wait_table_self;

/* Functions of preload/attach, which sets them before any thread waits. */
extern struct hd_wait_hooks {
    /* Called at each wait of a thread that has a table and is not watched. Returns its table if the thread is
     * watched from now on, else NULL. */
    struct hd_wait_table *(*first_wait)(void);
} hd_wait_hooks;

/* The arguments of a wait. The code reads the descriptors only if the key is new. */
struct hd_wait_call {
    uint64_t hash;             /* hash of the descriptors */
    const struct pollfd *poll; /* `n` elements; NULL: the wait is not a poll */
    const fd_set *select[3];   /* sets of the numbers below `n`; each may be NULL */
    int epoll;                 /* number of the epoll instance, a library (descriptors.h), or -1 */
    uint32_t epoll_generation;
    uint64_t n;
};

struct hd_waiting {
    struct hd_wait_table *waits; /* NULL: this wait does not count */
    struct hd_wait_entry *entry;
    uint64_t began; /* ticks */
    bool blocks;    /* true: the timeout is not zero */
    bool idle;      /* true: the wait was known as the loop's when it began */
};

/* Returns the entry with this key. A new key gets a free entry, or replaces another key. */
struct hd_wait_entry *hd_wait_table_find(struct hd_wait_table *t, uint64_t key,
                                         const struct hd_wait_call *call, uint64_t caller_sp);

/* longjmp or an exception takes the thread out of the wait function. If the thread is in a wait, ends the
 * wait. */
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

/* Called before and after the real wait function. `caller` and `frame`: the return address and the frame of
 * the wrapper. Both keep errno. */
void hd_wait_begin(struct hd_waiting *w, const struct hd_wait_call *call, bool blocks, const void *caller,
                   const void *frame);
void hd_wait_end(struct hd_waiting *w);

/* True if this wait equals the thread's last wait, and is the loop's. This is the fast path, and with two
 * marks the whole cost of a usual turn. */
static inline bool hd_wait_is_the_loops(const struct hd_wait_table *t, uint64_t hash, const void *caller,
                                        const void *frame) {
    return t->watch != NULL && t->last.hash == hash && t->last.caller == caller && t->last.frame == frame &&
           atomic_load_explicit(&t->last.entry->verdict, memory_order_relaxed) == HD_WAIT_IDLE;
}

/* Uses `loop` instead of `watch`: another thread may have ended the watch, but the loop's memory stays
 * mapped. */
static inline uint64_t hd_wait_loop_begin(struct hd_wait_table *t) {
    return hd_loop_before_wait(t->loop);
}

static inline void hd_wait_loop_end(struct hd_wait_table *t, struct hd_wait_entry *entry, uint64_t began) {
    struct hd_watch *watch = t->watch;
    /* NULL: the watch has ended, or the process is a forked child, whose table the kernel wiped during the
     * wait. */
    if (watch != NULL) {
        hd_wait_sum(t, entry, began, hd_loop_after_wait(&watch->loop));
    }
}

/* Called after a wait with zero timeout, at which one turn ends and the next starts. */
static inline void hd_wait_loop_polled(struct hd_wait_table *t) {
    struct hd_watch *watch = t->watch;
    if (watch != NULL) {
        hd_loop_turn(&watch->loop);
    }
}

#endif
