/* SPDX-License-Identifier: MIT
 *
 * Functions that change the record where one store is not enough.
 */
#include "record/record.h"

void hd_record_foreground(struct hd_record *r, bool is, uint64_t now_ns) {
    uint64_t since_ns = atomic_exchange(&r->turns.foreground_since_ns, is ? now_ns : 0);
    /* `since_ns` is after `now_ns` if another thread read the clock after this thread's caller did, but
     * stored its time in the record first. */
    if (since_ns != 0 && now_ns > since_ns) {
        atomic_fetch_add(&r->turns.foreground_ns, now_ns - since_ns);
    }
}

static void raise_to(_Atomic uint64_t *longest_ns, uint64_t duration_ns) {
    uint64_t longest = atomic_load_explicit(longest_ns, memory_order_relaxed);
    while (longest < duration_ns && !atomic_compare_exchange_weak(longest_ns, &longest, duration_ns)) {
    }
}

void hd_record_add_hang(struct hd_record *r, uint64_t duration_ns) {
    atomic_fetch_add_explicit(&r->hangs.count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->hangs.total_ns, duration_ns, memory_order_relaxed);
    raise_to(&r->hangs.max_ns, duration_ns);
}

void hd_record_add_pool_stall(struct hd_record *r, uint64_t duration_ns) {
    atomic_fetch_add_explicit(&r->pools.stalls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->pools.stall_ns, duration_ns, memory_order_relaxed);
    raise_to(&r->pools.max_ns, duration_ns);
}

void hd_record_add_suppressed(struct hd_record *r, uint64_t duration_ns) {
    atomic_fetch_add_explicit(&r->losses.suppressed, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->losses.suppressed_ns, duration_ns, memory_order_relaxed);
    raise_to(&r->losses.suppressed_max_ns, duration_ns);
}

void hd_record_add_unreported(struct hd_record *r, uint64_t duration_ns) {
    hd_record_add_hang(r, duration_ns);
    hd_record_add_suppressed(r, duration_ns);
}
