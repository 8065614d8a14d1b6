/* SPDX-License-Identifier: MIT */
#include "outside/linux/bpf_events.h"

#include <string.h>

#include "outside/linux/bpf_state.h"
#include "waits.skel.h"

void hd_bpf_events_ended(struct hd_hook *h, uint32_t slot) {
    h->events.thread_ended(h->events.arg, h->slots.owner[slot].tid, h->slots.slot[slot].ended_ns);
    hd_bpf_state_remove(h, slot);
}

static void report_sight(struct hd_hook *h, const struct hd_record_sight *r) {
    int slot = hd_slots_find(&h->slots, (pid_t)r->head.tid);
    if (slot < 0) {
        return;
    }
    h->slots.owner[slot].generation[r->kind % HD_SLOT_KINDS] = r->head.generation;
    struct hd_hook_sight sight = {.kind = r->kind % HD_SLOT_KINDS,
                                  .nr = r->nr,
                                  .blocks = r->blocks != 0,
                                  .object = r->object,
                                  .at_ns = r->head.at_ns,
                                  .regs = {.pc = r->pc, .sp = r->sp, .valid = r->valid}};
    memcpy(sight.args, r->args, sizeof sight.args);
    memcpy(sight.regs.r, r->regs, sizeof sight.regs.r);
    uint64_t below = r->sp - r->stack_addr;
    if (below < r->stack_bytes && r->stack_bytes <= HD_STACK_COPY) {
        sight.stack = r->stack + below;
        sight.stack_addr = r->sp;
        sight.stack_bytes = r->stack_bytes - (uint32_t)below;
    }
    h->events.sight(h->events.arg, (pid_t)r->head.tid, &sight);
}

void hd_bpf_events_seeds(struct hd_hook *h) {
    for (uint32_t i = 0; h->new_seeds != 0 && i < h->slots.count; i++) {
        struct hd_slot_owner *o = &h->slots.owner[i];
        if (!o->seed_is_new) {
            continue;
        }
        const struct hd_slot_kind *k = &h->slots.slot[i].kind[0];
        struct hd_hook_sight sight = {
            .nr = k->nr, .blocks = true, .at_ns = o->begun_ns, .regs = {.pc = k->pc, .sp = k->sp}};
        memcpy(sight.args, o->seed_args, sizeof sight.args);
        o->seed_is_new = false;
        h->new_seeds--;
        h->events.sight(h->events.arg, o->tid, &sight);
    }
}

/* The threads of the process are others now. */
static void forget_process(struct hd_hook *h, pid_t pid) {
    for (uint32_t i = 0; i < h->slots.count; i++) {
        if (h->slots.owner[i].pid == pid) {
            hd_bpf_state_unwatch(h, h->slots.owner[i].tid);
        }
    }
}

int hd_bpf_events_take(void *arg, void *data, size_t bytes) {
    struct hd_hook *h = arg;
    const struct hd_record_head *r = data;
    pid_t tid = (pid_t)r->tid;
    int slot = hd_slots_find(&h->slots, tid);
    struct hd_hook_turn turn = {.start_ns = r->at_ns, .earlier_ns = r->earlier_ns, .end_ns = r->end_ns};
    switch (r->type) {
    case HD_RECORD_SIGHT:
        if (bytes >= sizeof(struct hd_record_sight)) {
            report_sight(h, data);
        }
        break;
    case HD_RECORD_TURN:
        if (slot >= 0) {
            h->events.turn(h->events.arg, tid, &turn);
        }
        break;
    case HD_RECORD_BEGAN:
        h->events.thread_began(h->events.arg, (pid_t)r->pid, tid);
        break;
    case HD_RECORD_ENDED:
        if (slot >= 0 && h->slots.slot[slot].ended_ns != 0) {
            hd_bpf_events_ended(h, (uint32_t)slot);
        }
        break;
    case HD_RECORD_EXEC:
        if (slot >= 0 && h->slots.owner[slot].pid == (pid_t)r->pid) { /* most programs are not watched */
            forget_process(h, (pid_t)r->pid);
        }
        h->events.exec(h->events.arg, (pid_t)r->pid);
        break;
    default:
        break;
    }
    return 0;
}

/* Threads whose end the ring had no space for. */
void hd_bpf_events_lost(struct hd_hook *h) {
    if (__atomic_exchange_n(&h->programs.object->bss->lost, 0, __ATOMIC_RELAXED) == 0) {
        return;
    }
    for (uint32_t i = 0; i < h->slots.count; i++) {
        if (h->slots.owner[i].tid != 0 && h->slots.slot[i].ended_ns != 0) {
            hd_bpf_events_ended(h, i);
        }
    }
}
