/* SPDX-License-Identifier: MIT
 *
 * Watched thread: wait-free. Its waits are told apart by an identity (return address, stack pointer,
 * descriptor numbers or epoll instance); on the thread that is all: a compare, a verdict, two marks. What an
 * identity means is found out by the worker (recognise.c), from a copy of the stack that the thread leaves at
 * first sight.
 */
#ifndef HD_WAIT_TABLE_H
#define HD_WAIT_TABLE_H

#include <poll.h>
#include <sys/select.h>

#include "recognise/descriptors.h"
#include "watch/run.h"

#define HD_WAIT_ENTRIES 96u
#define HD_WAIT_STACK_BYTES (24u * 1024u)

/* Waits that look the same to the thread. */
struct hd_wait_entry {
    _Alignas(64) uint64_t key; /* 0: free; the thread's */
    _Atomic uint8_t verdict;   /* enum hd_wait_verdict; the worker's */
    _Atomic uint8_t
        resolved; /* `seen` is true; the worker's, cleared by the thread when it gives the place away */
    _Atomic uint32_t uses; /* of this place in the table: which owner the worker has read */
    /* sums, the thread's */
    _Atomic uint64_t waits, ticks, order;
    _Atomic uint64_t over;         /* ticks: when the last one ended */
    _Atomic uint64_t first_began;  /* ticks */
    _Atomic uint64_t began, ended; /* ticks: the last wait that was not known to be idle when it began */
    uint64_t sp;
    struct hd_wait_descriptors objects;
};

/* A stack that the thread left for the worker. */
struct hd_stack_copy {
    uint32_t entry, uses, bytes;
    bool blocks;    /* it was no look with zero timeout */
    bool elsewhere; /* not on the thread's own stack */
    struct hd_wait_descriptors objects;
    uint64_t sp;
    struct hd_regs regs;
    uint8_t stack[HD_WAIT_STACK_BYTES];
};

/* Three places, so that the newest wins and neither side waits: one is the thread's to write, one the
 * worker's to read, one lies between them and is exchanged. */
struct hd_stack_copies {
    _Atomic uint32_t between; /* its number, with HD_STACK_COPY_FRESH when the worker has not had it */
    uint32_t writing;         /* the thread's */
    uint32_t reading;         /* the worker's */
    struct hd_stack_copy stack[3];
};
#define HD_STACK_COPY_FRESH 4u

static inline void hd_stack_copies_init(struct hd_stack_copies *l) {
    l->writing = 0;
    l->reading = 1;
    atomic_store_explicit(&l->between, 2, memory_order_relaxed);
}

struct hd_recognition; /* recognise.h: the worker's side */

/* Of one watched thread; in memory that a forked child finds wiped, so that there it is not watched. */
struct hd_wait_table {
    /* one cache line: what the loop's wait touches when it comes round */
    _Alignas(64) struct hd_watch *_Atomic watch; /* NULL: not watched */
    struct hd_loop *_Atomic loop; /* of the watch, also when that is NULL again: it stays mapped */
    struct hd_wait_entry *last;   /* that matched, and what it was */
    const void *last_caller, *last_frame;
    uint64_t last_hash;
    _Atomic uint64_t order; /* waits so far */
    /* the rest: seldom */
    uint64_t woke_ticks;    /* when the thread last woke a parked monitor for a wait of unknown meaning */
    _Atomic bool slow_path; /* it is in the midst of what no signal handler that waits may enter again */
    bool named;             /* not the main thread: one that is watched for its name */
    uint64_t stack_top;     /* 0: not known, its memory may end anywhere */
    struct hd_wait_entry entry[HD_WAIT_ENTRIES];
    struct hd_stack_copies left;
    struct hd_recognition *recognition;
};

extern _Thread_local struct hd_wait_table *hd_wait_table_self;

/* Set before any thread waits, by the code that knows the process. */
extern struct hd_wait_hooks {
    /* The calling thread waits and is not watched: NULL, or by what it is watched from now on. */
    struct hd_wait_table *(*first_wait)(void);
} hd_wait_hooks;

/* What a wait waits for, as the thread sees it. The numbers are only looked at when it is new. */
struct hd_wait_set {
    uint64_t hash;
    const struct pollfd *poll; /* of `n`, or */
    const fd_set *select[3];   /* with numbers below `n`, or */
    int epoll;                 /* the epoll instance, -1 */
    uint32_t epoll_generation;
    uint64_t n;
};

struct hd_waiting {
    struct hd_wait_table *waits; /* NULL: this thread is not watched */
    struct hd_wait_entry *entry;
    uint64_t began; /* ticks */
    bool blocks, idle;
};

/* An identity that is not the last one that matched: found, or made. */
struct hd_wait_entry *hd_wait_table_find(struct hd_wait_table *t, uint64_t key, const struct hd_wait_set *set,
                                         uint64_t sp);

/* The thread jumps: out of a wait, if it is in one. */
void hd_wait_left(struct hd_wait_table *t);

static inline void hd_wait_sum(struct hd_wait_table *t, struct hd_wait_entry *id, uint64_t began,
                               uint64_t over) {
    uint64_t order = atomic_load_explicit(&t->order, memory_order_relaxed) + 1;
    HD_OWNER_ADD(id->waits, 1);
    HD_OWNER_ADD(id->ticks, over - began);
    atomic_store_explicit(&id->over, over, memory_order_relaxed);
    atomic_store_explicit(&t->order, order, memory_order_relaxed);
    atomic_store_explicit(&id->order, order, memory_order_relaxed);
}

/* Around the real call. errno is not touched. `caller` and `frame`: return address and frame of the
 * interposed function. */
void hd_wait_begin(struct hd_waiting *w, const struct hd_wait_set *set, bool blocks, const void *caller,
                   const void *frame);
void hd_wait_end(struct hd_waiting *w);

/* The common case, which is all that a loop's turn pays for: the wait that was the last one, known to be the
 * loop's. */
static inline bool hd_wait_is_the_loops(const struct hd_wait_table *t, uint64_t hash, const void *caller,
                                        const void *frame) {
    return t->watch != NULL && t->last_hash == hash && t->last_caller == caller && t->last_frame == frame &&
           atomic_load_explicit(&t->last->verdict, memory_order_relaxed) == HD_WAIT_IDLE;
}

/* The watch may go meanwhile, its memory does not: hence the loop, which stays. */
static inline uint64_t hd_wait_loop_begin(struct hd_wait_table *t) {
    return hd_loop_before_wait(t->loop);
}

static inline void hd_wait_loop_end(struct hd_wait_table *t, struct hd_wait_entry *id, uint64_t began) {
    struct hd_watch *watch = t->watch;
    if (watch != NULL) { /* NULL: a forked child, wiped while it waited */
        hd_wait_sum(t, id, began, hd_loop_after_wait(&watch->loop));
    }
}

/* With zero timeout: one turn ends, the next starts. */
static inline void hd_wait_loop_looked(struct hd_wait_table *t) {
    struct hd_watch *watch = t->watch;
    if (watch != NULL) {
        hd_loop_turn(&watch->loop);
    }
}

#endif
