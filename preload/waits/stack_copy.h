/* SPDX-License-Identifier: MIT
 *
 * Copies of a watched thread's stack. The thread makes a copy in a wait, and the worker unwinds the copy.
 * There are three buffers: the thread writes one, the worker reads one, and the third is free for exchange.
 * The thread exchanges its full buffer for the third one. The worker does the same with the buffer that it
 * has read. So neither is ever blocked by the other, and a new copy replaces an unread one.
 */
#ifndef HD_STACK_COPY_H
#define HD_STACK_COPY_H

#include <stdatomic.h>

#include "recognise/descriptors.h"

#define HD_WAIT_STACK_BYTES (24u * 1024u)

struct hd_stack_copy {
    /* the index of the wait's entry in the wait table, and the value of this entry's `uses` (wait_table.h) */
    uint32_t entry, uses;
    uint32_t bytes; /* the number of bytes in `stack` that are copied */
    bool blocks;    /* true: the wait in which the copy was made has a timeout other than zero */
    bool coroutine; /* true: the copy is not of the thread's own stack */
    struct hd_wait_descriptors descriptors;
    uint64_t caller_sp; /* the stack pointer at the program's call of the wait function */
    struct hd_regs regs;
    uint8_t stack[HD_WAIT_STACK_BYTES];
};

struct hd_stack_copies {
    /* Index of the third buffer. HD_STACK_COPY_FRESH is added while this buffer has an unread copy. */
    _Atomic uint32_t between;
    uint32_t writing; /* index of the buffer that the thread writes */
    uint32_t reading; /* index of the buffer that the worker reads */
    struct hd_stack_copy stack[3];
};
#define HD_STACK_COPY_FRESH 4u

static inline void hd_stack_copies_init(struct hd_stack_copies *c) {
    c->writing = 0;
    c->reading = 1;
    atomic_store_explicit(&c->between, 2, memory_order_relaxed);
}

/* True if the worker has not read the newest copy yet. Any thread may call this function. */
static inline bool hd_stack_copies_has_fresh(const struct hd_stack_copies *c) {
    return (atomic_load_explicit(&c->between, memory_order_relaxed) & HD_STACK_COPY_FRESH) != 0;
}

/* Returns the newest copy, which stays valid until the next call. Only the worker thread calls this function,
 * and only if hd_stack_copies_has_fresh returns true. */
static inline struct hd_stack_copy *hd_stack_copies_take(struct hd_stack_copies *c) {
    c->reading = atomic_exchange_explicit(&c->between, c->reading, memory_order_acq_rel) & 3;
    return &c->stack[c->reading];
}

#endif
