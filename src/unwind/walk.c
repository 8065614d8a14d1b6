/* SPDX-License-Identifier: MIT
 *
 * The walk: a tight loop over cached rules, everything else by hd_step. Worker: may run while a hang is on, no
 * allocation.
 */
#include "unwind/walk.h"

#include <string.h>

#define LIKELY(x) __builtin_expect((x), 1)

/* Keeps a frame: the first ones as they come, then the last ones round and round. */
static inline void emit(struct hd_walker *w, uint64_t pc, uint64_t start, uint8_t trust) {
    w->root = start;
    if (w->frames == NULL)
        return;
    if (w->at == w->max)
        w->at = w->head;
    if (w->at < w->max)
        w->frames[w->at++] = (struct hd_frame){.pc = pc, .start = start, .trust = trust};
}

/* A plain rule: true when regs are the caller's; false when it needs what is not there (w->stop says what, or is
 * HD_STEP_ON for a register). */
static inline bool apply(struct hd_walker *w, const struct hd_rule *rule) {
    struct hd_regs *regs = &w->regs;
    uint64_t fp = regs->r[HD_ARCH_FP];
    bool by_fp = rule->kind == HD_RULE_FP;
    w->stop = HD_STEP_ON;
    if (by_fp && (regs->valid >> HD_ARCH_FP & 1) == 0)
        return false;
    uint64_t cfa = (by_fp ? fp : regs->sp) + (uint64_t)(int64_t)rule->cfa_offset;
    uint64_t offset = cfa - w->stack.address;
    if (!LIKELY(cfa > regs->sp || (HD_ARCH_LEAF_KEEPS_SP && cfa == regs->sp))) {
        w->stop = HD_STOP_NO_PROGRESS;
        return false;
    }
    if (!LIKELY(offset <= w->stack.size && offset >= 8u * rule->depth)) {
        w->stop = HD_STOP_UNREADABLE;
        return false;
    }
    if (!hd_arch_return_known(rule, regs)) {
        w->stop = HD_STOP_NO_UNWIND_INFORMATION;
        return false;
    }
    regs->pc = hd_arch_apply(rule, w->stack.bytes + offset, regs);
    regs->sp = cfa;
    w->trust = HD_TRUST_CFI;
    return true;
}

/* What the loop leaves: rows, code without tables, lost registers. False: the walk ends. */
static __attribute__((noinline)) bool other(struct hd_walker *w, const struct hd_cached_rule *e, uint64_t start) {
    if (w->stop == HD_STEP_ON)
        w->stop = hd_step(w, (enum hd_rule_kind)e->rule.kind, start);
    return w->stop == HD_STEP_ON;
}

void hd_walk_run(struct hd_walker *w) {
    for (w->steps = 0; w->steps < w->step_limit; w->steps++) {
        uint64_t pc = w->regs.pc;
        uint8_t trust = w->trust;
        const struct hd_cached_rule *e = hd_unwinder_rule(w->u, pc - !hd_pc_is_exact(trust));
        uint64_t start = hd_cached_start(e);
        emit(w, pc, start, trust);
        w->stop = HD_STEP_ON;
        if (!LIKELY(e->rule.kind <= HD_RULE_FP && apply(w, &e->rule)) && !other(w, e, start)) {
            w->steps++;
            return;
        }
        if (w->regs.pc == 0) {
            w->stop = HD_STOP_ROOT;
            w->steps++;
            return;
        }
    }
    w->stop = HD_STOP_LIMIT;
}

static void reverse(struct hd_frame *from, struct hd_frame *to) {
    while (from < to) {
        struct hd_frame f = *from;
        *from++ = *--to;
        *to = f;
    }
}

/* The ring's oldest frame comes first. */
static void unroll(struct hd_walker *w) {
    struct hd_frame *ring = w->frames + w->head, *oldest = w->frames + w->at, *end = w->frames + w->max;
    reverse(ring, oldest);
    reverse(oldest, end);
    reverse(ring, end);
}

void hd_unwind(struct hd_unwinder *u, const struct hd_regs *regs, const uint8_t *stack, uint64_t stack_addr,
               uint32_t stack_bytes, uint64_t known_root, struct hd_frame *frames, uint32_t max, struct hd_walk *out) {
    struct hd_walker w;
    memset(&w, 0, sizeof w);
    w.u = u;
    w.stack = (struct hd_stack){.bytes = stack, .address = stack_addr, .size = stack_bytes};
    w.regs = *regs;
    w.known_root = known_root;
    w.step_limit = HD_WALK_STEPS;
    w.scans_left = HD_WALK_SCANS;
    w.trial_steps_left = HD_SCAN_TRIAL_STEPS;
    w.trust = HD_TRUST_CONTEXT;
    w.frames = max != 0 ? frames : NULL;
    w.max = max;
    w.head = max - max / 2;
    hd_walk_run(&w);
    if (w.steps > max && w.frames != NULL)
        unroll(&w);
    out->count = w.steps < max ? w.steps : max;
    out->cut = w.steps - out->count;
    out->stop = w.stop;
    out->used_scan = w.used_scan;
    out->root = w.stop == HD_STOP_ROOT ? w.root : 0;
}
