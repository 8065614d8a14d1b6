/* SPDX-License-Identifier: MIT
 *
 * Walks up a stack: a tight loop follows cached plain rules, and hd_step takes all other steps.
 * On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/walk.h"

#include <string.h>

/* Stores a frame. Once w->max frames are stored, a new frame replaces the oldest one from index w->head on.
 */
static inline void emit(struct hd_walker *w, uint64_t pc, uint64_t start, uint8_t trust) {
    w->root = start;
    if (w->at == w->max) {
        w->at = w->head;
    }
    w->frames[w->at++] = (struct hd_frame){
        .pc = pc, .start = start, .trust = trust, .at = (uint32_t)(w->regs.sp - w->stack.address)};
}

/* The tight loop: steps over frames whose pc is a return address and whose plain rule is in the cache. Stops
 * before the first frame that is different, or whose rule gives an impossible CFA. That frame is not stored
 * yet. */
static void plain(struct hd_walker *w) {
    struct hd_unwinder *const u = w->u;
    struct hd_frame *const frames = w->frames;
    const struct hd_stack stack = w->stack;
    const uint32_t max = w->max, head = w->head;
    uint64_t pc = w->regs.pc, sp = w->regs.sp, fp = w->regs.r[HD_ARCH_FP], valid = w->regs.valid;
    uint32_t steps = w->steps, at = w->at;
    uint8_t trust = w->trust;
    for (; pc != 0 && steps < w->step_limit; steps++) {
        const struct hd_cached_rule *e = hd_unwinder_probe(u, pc - 1);
        if (e == NULL || e->rule.kind > HD_RULE_FP) {
            break;
        }
        const bool by_fp = e->rule.kind == HD_RULE_FP;
        if (by_fp && (valid >> HD_ARCH_FP & 1) == 0) {
            break;
        }
        uint64_t cfa = (by_fp ? hd_arch_frame_address(fp) : sp) + (uint64_t)(int64_t)e->rule.cfa_offset;
        uint64_t offset = cfa - stack.address;
        if (cfa <= sp || offset > stack.size || offset < 8u * e->rule.depth ||
            !hd_arch_return_known(&e->rule, valid)) {
            break;
        }
        if (at == max) {
            at = head;
        }
        frames[at++] = (struct hd_frame){
            .pc = pc, .start = pc - 1 - e->start_back, .trust = trust, .at = (uint32_t)(sp - stack.address)};
        pc = hd_arch_apply(&e->rule, stack.bytes + offset, w->regs.r, &fp);
        valid = hd_arch_valid_after(&e->rule, valid);
        sp = cfa;
        trust = HD_TRUST_CFI;
    }
    if (steps != w->steps) {
        w->root = frames[at - 1].start;
    }
    w->regs.pc = pc;
    w->regs.sp = sp;
    w->regs.r[HD_ARCH_FP] = fp;
    w->regs.valid = valid;
    w->steps = steps;
    w->at = at;
    w->trust = trust;
}

/* Takes one step by a plain rule, for a frame at which the tight loop stopped. Returns HD_STEP_ON, with the
 * caller's registers in w->regs, or an enum hd_stop. */
static uint8_t apply(struct hd_walker *w, const struct hd_rule *rule, uint64_t start) {
    struct hd_regs *regs = &w->regs;
    uint64_t from = rule->kind == HD_RULE_FP ? hd_arch_frame_address(regs->r[HD_ARCH_FP]) : regs->sp;
    uint64_t cfa = from + (uint64_t)(int64_t)rule->cfa_offset;
    uint64_t offset = cfa - w->stack.address;
    bool keeps_sp = HD_ARCH_LEAF_KEEPS_SP && hd_pc_is_exact(w->trust); /* a caller is no leaf */
    if (cfa < regs->sp || (cfa == regs->sp && !keeps_sp)) {
        return HD_STOP_NO_PROGRESS;
    }
    if (offset > w->stack.size || offset < 8u * rule->depth) { /* row evaluation may need fewer words */
        return hd_step(w, HD_RULE_ROW, start);
    }
    if (!hd_arch_return_known(rule, regs->valid)) {
        return hd_pc_is_exact(w->trust) ? hd_walk_step_hidden(w, start) : HD_STOP_NO_UNWIND_INFORMATION;
    }
    regs->pc = hd_arch_apply(rule, w->stack.bytes + offset, regs->r, &regs->r[HD_ARCH_FP]);
    regs->valid = hd_arch_valid_after(rule, regs->valid);
    regs->sp = cfa;
    w->trust = HD_TRUST_CFI;
    return HD_STEP_ON;
}

/* Stores one frame of any kind and steps to its caller. Returns HD_STEP_ON or an enum hd_stop. */
static uint8_t any(struct hd_walker *w) {
    const struct hd_cached_rule *e = hd_unwinder_rule(w->u, w->regs.pc - !hd_pc_is_exact(w->trust));
    enum hd_rule_kind kind = (enum hd_rule_kind)e->rule.kind;
    uint64_t start = hd_cached_start(e);
    emit(w, w->regs.pc, start, w->trust);
    w->steps++;
    if (w->u->own_step != NULL) {
        uint8_t stop = w->u->own_step(w, e);
        if (stop != HD_STEP_BY_RULE) {
            return stop;
        }
    }
    if (kind == HD_RULE_SP || (kind == HD_RULE_FP && (w->regs.valid >> HD_ARCH_FP & 1) != 0)) {
        return apply(w, &e->rule, start);
    }
    return hd_step(w, kind, start);
}

void hd_walk_run(struct hd_walker *w) {
    uint8_t stop = HD_STEP_ON;
    w->steps = 0;
    while (stop == HD_STEP_ON) {
        if (w->steps >= w->step_limit) {
            stop = HD_STOP_LIMIT;
        } else if ((stop = any(w)) == HD_STEP_ON) {
            if (!hd_pc_is_exact(w->trust)) {
                plain(w);
            }
            if (w->regs.pc < w->u->lowest_pc) {
                stop = HD_STOP_ROOT;
            }
        }
    }
    w->stop = stop;
}

static void reverse(struct hd_frame *from, struct hd_frame *to) {
    while (from < to) {
        struct hd_frame f = *from;
        *from++ = *--to;
        *to = f;
    }
}

/* Rotates the ring of the last frames so that its oldest frame comes first. */
static void unroll(struct hd_walker *w) {
    struct hd_frame *ring = w->frames + w->head, *oldest = w->frames + w->at, *end = w->frames + w->max;
    reverse(ring, oldest);
    reverse(oldest, end);
    reverse(ring, end);
}

void hd_walk_set_frames(struct hd_walker *w, struct hd_frame *frames, uint32_t max) {
    w->frames = frames;
    w->max = max;
    w->head = max - max / 2;
    w->at = 0;
}

void hd_unwind(struct hd_unwinder *u, const struct hd_regs *regs, const uint8_t *stack, uint64_t stack_addr,
               uint32_t stack_bytes, uint64_t known_root, struct hd_frame *frames, uint32_t max,
               struct hd_walk *out) {
    struct hd_walker w;
    struct hd_frame few[2]; /* used if max < 2, because a walk needs space for two frames */
    memcpy(&w.regs, regs, sizeof w.regs);
    w.u = u;
    w.stack = (struct hd_stack){.bytes = stack, .address = stack_addr, .size = stack_bytes};
    w.known_root = known_root;
    w.step_limit = HD_WALK_STEPS;
    w.scans_left = HD_WALK_SCANS;
    w.candidates_left = HD_WALK_CANDIDATES;
    w.trial_steps_left = HD_SCAN_TRIAL_STEPS;
    w.trust = HD_TRUST_CONTEXT;
    w.trial = false;
    w.used_scan = false;
    w.confirmed = false;
    hd_walk_set_frames(&w, max > 1 ? frames : few, max > 1 ? max : 2);
    hd_walk_run(&w);
    if (w.steps > w.max) {
        unroll(&w);
    }
    if (max == 1) {
        frames[0] = few[0];
    }
    out->count = w.steps < max ? w.steps : max;
    out->cut = w.steps - out->count;
    out->stop = w.stop;
    out->used_scan = w.used_scan;
    out->root = w.stop == HD_STOP_ROOT ? w.root : 0;
}
