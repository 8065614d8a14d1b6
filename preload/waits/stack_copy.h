/* SPDX-License-Identifier: MIT
 *
 * Copies of a watched thread's stack, which the thread makes in a wait and the worker walks. Three buffers:
 * the thread writes one, the worker reads one, and either exchanges its own for the third. So neither waits
 * for the other, and the newest copy replaces an unread one.
 */
#ifndef HD_STACK_COPY_H
#define HD_STACK_COPY_H

#include <stdatomic.h>

#include "recognise/descriptors.h"

#define HD_WAIT_STACK_BYTES (24u * 1024u)

struct hd_stack_copy {
    uint32_t entry, uses; /* index of the wait's entry, and its `uses` (wait_table.h) */
    uint32_t bytes;       /* in `stack` */
    bool blocks;          /* the wait's timeout is not zero */
    bool coroutine;       /* the stack pointer is outside of the thread's own stack */
    struct hd_wait_descriptors descriptors;
    uint64_t caller_sp; /* the program's stack pointer at its call of the wait function */
    struct hd_regs regs;
    uint8_t stack[HD_WAIT_STACK_BYTES];
};

struct hd_stack_copies {
    _Atomic uint32_t between; /* the third buffer's index; with HD_STACK_COPY_FRESH if it is unread */
    uint32_t writing;         /* index of the thread's buffer */
    uint32_t reading;         /* index of the worker's */
    struct hd_stack_copy stack[3];
};
#define HD_STACK_COPY_FRESH 4u

static inline void hd_stack_copies_init(struct hd_stack_copies *c) {
    c->writing = 0;
    c->reading = 1;
    atomic_store_explicit(&c->between, 2, memory_order_relaxed);
}

/* Any thread: a copy is unread. */
static inline bool hd_stack_copies_has_fresh(const struct hd_stack_copies *c) {
    return (atomic_load_explicit(&c->between, memory_order_relaxed) & HD_STACK_COPY_FRESH) != 0;
}

/* The worker, if a copy is unread: takes the newest one, which stays valid until the next call. */
static inline struct hd_stack_copy *hd_stack_copies_take(struct hd_stack_copies *c) {
    c->reading = atomic_exchange_explicit(&c->between, c->reading, memory_order_acq_rel) & 3;
    return &c->stack[c->reading];
}

#endif
