/* SPDX-License-Identifier: MIT
 *
 * Rows, and what is not the usual way of a call. The program's threads; no allocation.
 */
#include "trace/calls.h"

#define ROWS_FULL (HD_TRACE_ROWS / 4 * 3)

struct hd_trace_row *hd_trace_row_of(struct hd_trace_calls *c, uint64_t key) {
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    for (uint32_t i = 0; i < HD_TRACE_ROWS; i++) {
        struct hd_trace_row *row = &c->row[(hash + i) % HD_TRACE_ROWS];
        uint64_t found = hd_trace_get(&row->key);
        if (found == key) {
            return row;
        }
        if (found == 0 && c->rows >= ROWS_FULL) {
            return NULL;
        }
        /* a signal handler of this thread may take it first */
        if (found == 0 && atomic_compare_exchange_strong(&row->key, &found, key)) {
            c->rows++;
            return row;
        }
    }
    return NULL;
}

bool hd_trace_unwind(struct hd_trace_calls *c, uint64_t function, uint64_t now, uint64_t launched) {
    uint32_t depth = atomic_load_explicit(&c->depth, memory_order_relaxed), at = depth;
    uint64_t wanted = (function << HD_TRACE_DEPTH_BITS) >> HD_TRACE_DEPTH_BITS;
    while (at > 0 && hd_trace_get(&c->frame[at - 1].key) >> HD_TRACE_DEPTH_BITS != wanted) {
        at--;
    }
    for (; at > 0 && depth > at; depth--) {
        hd_trace_close(c, now, launched);
    }
    return at > 0;
}

void hd_trace_close_all(struct hd_trace_calls *c, uint64_t now, uint64_t launched) {
    if (atomic_load_explicit(&c->depth, memory_order_relaxed) > HD_TRACE_FRAMES) {
        atomic_store_explicit(&c->depth, HD_TRACE_FRAMES, memory_order_relaxed);
    }
    while (atomic_load_explicit(&c->depth, memory_order_relaxed) > 0) {
        hd_trace_close(c, now, launched);
    }
}

static void add_row(struct hd_trace_calls *sum, const struct hd_trace_row *row) {
    uint64_t key = hd_trace_get(&row->key);
    struct hd_trace_row *to = hd_trace_row_of(sum, key);
    if (to == NULL) {
        hd_trace_add(&sum->lost, hd_trace_get(&row->count));
        return;
    }
    hd_trace_add(&to->count, hd_trace_get(&row->count));
    hd_trace_add(&to->total, hd_trace_get(&row->total));
    hd_trace_add(&to->self, hd_trace_get(&row->self));
    hd_trace_add(&to->launch_count, hd_trace_get(&row->launch_count));
    hd_trace_add(&to->launch_total, hd_trace_get(&row->launch_total));
    hd_trace_add(&to->launch_self, hd_trace_get(&row->launch_self));
    if (hd_trace_get(&row->longest) > hd_trace_get(&to->longest)) {
        hd_trace_set(&to->longest, hd_trace_get(&row->longest));
    }
}

/* From the inside out: each is part of the one around it. */
static void add_open(struct hd_trace_calls *sum, const struct hd_trace_calls *c, uint64_t now,
                     uint64_t launched) {
    uint32_t depth = atomic_load_explicit(&c->depth, memory_order_relaxed);
    uint64_t took = 0, launch = 0;
    for (depth = depth < HD_TRACE_FRAMES ? depth : HD_TRACE_FRAMES; depth > 0; depth--) {
        const struct hd_trace_frame *f = &c->frame[depth - 1];
        uint64_t start = hd_trace_get(&f->start), key = hd_trace_get(&f->key);
        struct hd_trace_row *row = key != 0 ? hd_trace_row_of(sum, key) : NULL;
        struct hd_trace_frame whole = {0};
        hd_trace_set(&whole.inner, hd_trace_get(&f->inner) + took);
        hd_trace_set(&whole.launch_inner, hd_trace_get(&f->launch_inner) + launch);
        took = now > start ? now - start : 0;
        launch = hd_trace_launch_part(start, now, launched);
        if (row != NULL) {
            hd_trace_account(row, &whole, took, launch);
        }
    }
}

void hd_trace_merge(struct hd_trace_calls *sum, const struct hd_trace_calls *c, uint64_t now,
                    uint64_t launched) {
    for (uint32_t i = 0; i < HD_TRACE_ROWS; i++) {
        if (hd_trace_get(&c->row[i].key) != 0) {
            add_row(sum, &c->row[i]);
        }
    }
    add_open(sum, c, now, launched);
    hd_trace_add(&sum->lost, hd_trace_get(&c->lost));
}
