/* SPDX-License-Identifier: MIT
 * The calls of one thread: a stack of open calls, and a row for each function and depth. Only the owner
 * writes; any thread may read. No lock, no allocation, no clock. A signal handler of the owner may call in
 * between, and uses the frames above.
 */
#ifndef HD_TRACE_CALLS_H
#define HD_TRACE_CALLS_H

#include <stdatomic.h>

#include "base/types.h"

#define HD_TRACE_FRAMES 4096     /* open calls that are timed; deeper ones are lost */
#define HD_TRACE_ROWS (1u << 14) /* functions by depth; what has no row is lost */
#define HD_TRACE_DEPTH_BITS 6
#define HD_TRACE_DEPTHS (1u << HD_TRACE_DEPTH_BITS) /* the last is "and deeper" */
#define HD_TRACE_LAUNCHING UINT64_MAX

/* Times are ticks. One cache line. */
struct hd_trace_row {
    _Alignas(64) _Atomic uint64_t key; /* function << HD_TRACE_DEPTH_BITS | depth; 0: free */
    _Atomic uint64_t count, total, self, longest;
    _Atomic uint64_t launch_count, launch_total, launch_self; /* the part before the launch's end */
};

struct hd_trace_frame {
    _Atomic uint64_t key; /* also of the last call that was here: `row` is its */
    struct hd_trace_row *row;
    _Atomic uint64_t start, inner, launch_inner; /* the last two: of the calls that it made */
};

struct hd_trace_calls {
    _Atomic uint32_t depth; /* open calls */
    _Atomic uint64_t lost;  /* calls without a frame or a row */
    uint32_t rows;          /* in use */
    struct hd_trace_frame frame[HD_TRACE_FRAMES];
    struct hd_trace_row row[HD_TRACE_ROWS];
};

static inline uint64_t hd_trace_get(const _Atomic uint64_t *value) {
    return atomic_load_explicit(value, memory_order_relaxed);
}

static inline void hd_trace_set(_Atomic uint64_t *value, uint64_t to) {
    atomic_store_explicit(value, to, memory_order_relaxed);
}

static inline void hd_trace_add(_Atomic uint64_t *value, uint64_t more) {
    hd_trace_set(value, hd_trace_get(value) + more);
}

/* The row of a key, made where there is none. NULL: no room. */
struct hd_trace_row *hd_trace_row_of(struct hd_trace_calls *c, uint64_t key);
/* The open frame of that function, with those above it closed: longjmp left them. False: none is open. */
bool hd_trace_unwind(struct hd_trace_calls *c, uint64_t function, uint64_t now, uint64_t launched);
/* Closes all. */
void hd_trace_close_all(struct hd_trace_calls *c, uint64_t now, uint64_t launched);
/* Adds the rows of `c`, and its open calls as if they ended now. `c` may be another thread's that runs. */
void hd_trace_merge(struct hd_trace_calls *sum, const struct hd_trace_calls *c, uint64_t now,
                    uint64_t launched);

static inline uint64_t hd_trace_key(uint64_t function, uint32_t depth) {
    return function << HD_TRACE_DEPTH_BITS | (depth < HD_TRACE_DEPTHS ? depth : HD_TRACE_DEPTHS - 1);
}

/* A call begins. Returns where its start is to be stored, as late as can be; NULL: it is not timed. */
static inline _Atomic uint64_t *hd_trace_enter(struct hd_trace_calls *c, uint64_t function) {
    uint32_t depth = atomic_load_explicit(&c->depth, memory_order_relaxed);
    atomic_store_explicit(&c->depth, depth + 1, memory_order_relaxed); /* first: a handler goes above it */
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(depth >= HD_TRACE_FRAMES, 0)) {
        hd_trace_add(&c->lost, 1);
        return NULL;
    }
    struct hd_trace_frame *f = &c->frame[depth];
    uint64_t key = hd_trace_key(function, depth);
    if (hd_trace_get(&f->key) != key || f->row == NULL) {
        f->row = hd_trace_row_of(c, key);
        hd_trace_set(&f->key, key);
    }
    hd_trace_set(&f->inner, 0);
    hd_trace_set(&f->launch_inner, 0);
    return &f->start;
}

/* The part of a call that lies before the launch's end. */
static inline uint64_t hd_trace_launch_part(uint64_t start, uint64_t now, uint64_t launched) {
    return start >= launched ? 0 : (now < launched ? now : launched) - start;
}

/* Adds a call that began at the frame's start and took `took`. */
static inline void hd_trace_account(struct hd_trace_row *row, const struct hd_trace_frame *f, uint64_t took,
                                    uint64_t launch) {
    uint64_t inner = hd_trace_get(&f->inner), launch_inner = hd_trace_get(&f->launch_inner);
    hd_trace_add(&row->count, 1);
    hd_trace_add(&row->total, took);
    hd_trace_add(&row->self, took > inner ? took - inner : 0);
    if (took > hd_trace_get(&row->longest)) {
        hd_trace_set(&row->longest, took);
    }
    if (launch != 0) {
        hd_trace_add(&row->launch_count, 1);
        hd_trace_add(&row->launch_total, launch);
        hd_trace_add(&row->launch_self, launch > launch_inner ? launch - launch_inner : 0);
    }
}

/* Closes the innermost open call. */
static inline void hd_trace_close(struct hd_trace_calls *c, uint64_t now, uint64_t launched) {
    uint32_t depth = atomic_load_explicit(&c->depth, memory_order_relaxed) - 1;
    struct hd_trace_frame *f = &c->frame[depth];
    uint64_t start = hd_trace_get(&f->start), took = now > start ? now - start : 0;
    uint64_t launch = hd_trace_launch_part(start, now, launched);
    if (f->row != NULL) {
        hd_trace_account(f->row, f, took, launch);
    } else {
        hd_trace_add(&c->lost, 1);
    }
    if (depth > 0) {
        hd_trace_add(&f[-1].inner, took);
        hd_trace_add(&f[-1].launch_inner, launch);
    }
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&c->depth, depth, memory_order_relaxed); /* last, for the same reason */
}

/* A call of that function ends. */
static inline void hd_trace_exit(struct hd_trace_calls *c, uint64_t function, uint64_t now,
                                 uint64_t launched) {
    uint32_t depth = atomic_load_explicit(&c->depth, memory_order_relaxed);
    if (__builtin_expect(depth > HD_TRACE_FRAMES, 0)) {
        atomic_store_explicit(&c->depth, depth - 1, memory_order_relaxed);
    } else if (__builtin_expect(depth == 0 || hd_trace_get(&c->frame[depth - 1].key) >> HD_TRACE_DEPTH_BITS !=
                                                  (function << HD_TRACE_DEPTH_BITS) >> HD_TRACE_DEPTH_BITS,
                                0)) {
        if (hd_trace_unwind(c, function, now, launched)) {
            hd_trace_close(c, now, launched);
        }
    } else {
        hd_trace_close(c, now, launched);
    }
}

#endif
