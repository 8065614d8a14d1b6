/* SPDX-License-Identifier: MIT
 *
 * The kinds of waits of a thread, and the first sight of each. For BPF programs.
 */
#ifndef HD_KINDS_OF_WAITS_H
#define HD_KINDS_OF_WAITS_H

#include "threads.h"

#define IDLE 1u /* HD_WAIT_IDLE */
#define SIGHT_EVERY_NS 100000000ULL
#define SIGHT_BURST 16u

/* ---- records ------------------------------------------------------------------------------------ */

/* The kernel wakes the watcher for a record only if the watcher has read all records before it. Records with
 * BPF_RB_NO_WAKEUP may lie unread, so sights and long turns wake the watcher by BPF_RB_FORCE_WAKEUP. */
static __always_inline void send(const struct hd_record_head *head, __u64 flags) {
    if (bpf_ringbuf_output(&ring, (void *)head, sizeof *head, flags) != 0) {
        __sync_fetch_and_add(&lost, 1);
    }
}

/* Copies the stack up to the first step that is not in memory. */
static __always_inline void copy_stack(struct hd_record_sight *s, __u64 sp) {
    s->stack_addr = sp & ~(__u64)(HD_STACK_STEP - 1);
    s->stack_bytes = 0;
    for (__u32 at = 0; at < HD_STACK_COPY; at += HD_STACK_STEP) {
        if (bpf_probe_read_user(s->stack + at, HD_STACK_STEP, (void *)(s->stack_addr + at)) != 0) {
            break;
        }
        s->stack_bytes = at + HD_STACK_STEP;
    }
}

/* ---- kinds -------------------------------------------------------------------------------------- */

struct call {
    __u64 pc, sp, object;
    __s32 nr;
    __u32 arg;
    __u32 class;
};

/* The kernel's address of the object behind a descriptor. */
static __always_inline __u64 object_of(__u32 fd) {
    struct task_struct *t = bpf_get_current_task_btf();
    struct fdtable *table = t->files->fdt;
    struct file **files = table->fd, *file = 0;
    __u64 object = 0;
    if (fd < table->max_fds && bpf_probe_read_kernel(&file, sizeof file, files + fd) == 0 && file != 0) {
        bpf_core_read(&object, sizeof object, &file->private_data);
    }
    return object;
}

static __always_inline bool is_idle(const struct hd_slot_kind *k) {
    return (k->verdict & 3) == IDLE;
}

static __always_inline bool is_kind(struct hd_slot_kind *k, const struct call *c) {
    __u64 nr = c->class == HD_CALL_RESTART ? 0 : (__u64)(k->nr ^ c->nr);
    /* the hook does not know the object of a wait that began before the watch */
    __u64 object = k->object == 0 ? 0 : k->object ^ c->object;
    return ((k->pc ^ c->pc) | (k->sp ^ c->sp) | (k->arg ^ c->arg) | nr | object) == 0;
}

/* Returns the number of the wait's kind, or -1. Not static: the kernel verifies it once, apart from its
 * callers. */
__noinline int find_kind(struct hd_slot *s, struct call *c) {
    if (s == 0 || c == 0) {
        return -1;
    }
    __u32 last = s->last % HD_SLOT_KINDS;
    if (is_kind(&s->kind[last], c)) {
        return last;
    }
    for (__u32 i = 0; i < HD_SLOT_KINDS; i++) {
        if (is_kind(&s->kind[i], c)) {
            return i;
        }
    }
    return -1;
}

/* True if the wait may block, by its time limit. */
static __always_inline bool may_block(__u32 class, const __u64 args[6]) {
    __u64 at, time[2] = {0, 0};
    switch (class) {
    case HD_CALL_EPOLL_MS:
        return (int)args[3] != 0;
    case HD_CALL_POLL_MS:
        return (int)args[2] != 0;
    case HD_CALL_EPOLL_AT:
        at = args[3];
        break;
    case HD_CALL_POLL_AT:
        at = args[2];
        break;
    case HD_CALL_SELECT_AT:
        at = args[4];
        break;
    default:
        return true;
    }
    return at == 0 || bpf_probe_read_user(time, sizeof time, (void *)at) != 0 || (time[0] | time[1]) != 0;
}

/* The oldest kind. A kind of the loop itself stays, if another can go. */
static __always_inline __u32 oldest_kind(struct hd_slot *s) {
    __u32 i = 0;
    for (__u32 tries = 0; tries < HD_SLOT_KINDS; tries++) {
        i = s->next++ % HD_SLOT_KINDS;
        if (!is_idle(&s->kind[i])) {
            break;
        }
    }
    return i;
}

/* Adds a kind and sends its first sight. Returns its number, or -1: not now. */
static __noinline int add_kind(struct hd_slot *s, struct call *c, __u64 now) {
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
    if (c->class == HD_CALL_RESTART) {
        return -1;
    }
    __u64 due = s->sight_ns;
    if (due > now) {
        return -1;
    }
    struct hd_record_sight *r = bpf_ringbuf_reserve(&ring, sizeof *r, 0);
    if (r == 0) {
        return -1;
    }
    const __u64 burst = SIGHT_BURST * SIGHT_EVERY_NS;
    s->sight_ns = (due + burst < now ? now - burst : due) + SIGHT_EVERY_NS;
    __u32 i = oldest_kind(s) % HD_SLOT_KINDS;
    struct hd_slot_kind *k = &s->kind[i];
    __u32 generation = (k->verdict >> 2) + 1;
    __builtin_memset(k, 0, sizeof *k);
    k->verdict = generation << 2;
    k->pc = c->pc;
    k->sp = c->sp;
    k->object = c->object;
    k->nr = c->nr;
    k->arg = c->arg;
    k->order = ++s->order;
    r->head.type = HD_RECORD_SIGHT;
    r->head.tid = s->tid;
    r->head.generation = generation;
    r->head.at_ns = now;
    r->kind = i;
    r->nr = c->nr;
    call_args(regs, r->args);
    r->blocks = may_block(c->class, r->args);
    r->object = c->object;
    r->pc = c->pc;
    r->sp = c->sp;
    store_registers(regs, r->regs);
    r->valid = CALL_REGISTERS;
    copy_stack(r, c->sp);
    bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
    return i;
}

#endif
