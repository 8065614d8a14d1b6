/* SPDX-License-Identifier: MIT
 *
 * Finds the bounds of a watched thread's own stack. On the monitor thread: no allocation, no lock.
 */
#include "capture/stack_bounds.h"

#include "os/os.h"

/* a main thread's stack grows by less than this between two reads of the bounds: a stack pointer further
 * below is on another stack */
#define GROWTH_MAX (1ULL << 30)

/* Plain loads are safe only on memory that stays mapped as long as the thread lives. Such memory is the main
 * thread's stack, and the stack that libc gave another thread. All other stacks get no bounds. */
void hd_stack_bounds_find(struct hd_stack_bounds *b, const struct hd_thread_files *f,
                          const struct hd_mailbox *m) {
    struct hd_proc_mapping in;
    if (m->stack_end == 0 && f->tid != hd_os.get_pid()) {
        return;
    }
    int fd = hd_thread_files_open_one(f, "maps");
    if (fd >= 0 && hd_proc_find_mapping(fd, m->stack_end, &in, NULL, 0) == 0 && in.readable && in.writable) {
        b->lo = in.start > m->stack_begin ? in.start : m->stack_begin;
        b->hi = m->stack_end != 0 ? m->stack_end : in.end;
    }
    hd_os_close(fd);
}

bool hd_stack_bounds_have(struct hd_stack_bounds *b, uint64_t sp, const struct hd_thread_files *f,
                          const struct hd_mailbox *m) {
    if (m == NULL || b->hi == 0) {
        return false;
    }
    if (sp < b->lo && b->lo - sp < GROWTH_MAX && m->stack_end == 0) {
        hd_stack_bounds_find(b, f, m);
    }
    return sp >= b->lo && sp < b->hi;
}

void hd_stack_bounds_share(const struct hd_stack_bounds *b, struct hd_mailbox *m) {
    __atomic_store_n(&m->stack_lo, b->lo, __ATOMIC_RELAXED);
    __atomic_store_n(&m->stack_hi, b->hi, __ATOMIC_RELAXED);
}
