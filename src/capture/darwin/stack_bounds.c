/* SPDX-License-Identifier: MIT
 *
 * The thread has stored its stack's bounds in its mailbox, as it started its watch. On the monitor thread: no
 * allocation, no lock.
 */
#include "capture/stack_bounds.h"

void hd_stack_bounds_find(struct hd_stack_bounds *b, const struct hd_thread_files *f,
                          const struct hd_mailbox *m) {
    (void)f;
    b->lo = m->stack_begin;
    b->hi = m->stack_end;
}

bool hd_stack_bounds_have(struct hd_stack_bounds *b, uint64_t sp, const struct hd_thread_files *f,
                          const struct hd_mailbox *m) {
    (void)f;
    return m != NULL && sp >= b->lo && sp < b->hi;
}

void hd_stack_bounds_share(const struct hd_stack_bounds *b, struct hd_mailbox *m) {
    __atomic_store_n(&m->stack_lo, b->lo, __ATOMIC_RELAXED);
    __atomic_store_n(&m->stack_hi, b->hi, __ATOMIC_RELAXED);
}
