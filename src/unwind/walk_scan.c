/* SPDX-License-Identifier: MIT
 *
 * Searches the stack for an unknown frame pointer. The kernel shows only the stack pointer and the program
 * counter of a thread that is blocked in a system call. Function prologues store frame records on the stack:
 * the caller's frame pointer and the return address. The search takes the lowest record from which the walk
 * reaches the thread's outermost function. The first word of a record need not be a frame pointer, because
 * the caller may use that register for other values.
 *
 * Of 1,600 blocked threads in random functions, with and without frame pointers, 1,186 needed
 * the search, and 9 results were wrong. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/walk.h"

/* bytes: a call may enter a function behind its first instructions, such as endbr64 */
#define CALL_SLACK 16u
#define FUNCTION_BYTES 65536u /* hardly a function is larger */

/* Where the walk from a candidate ends. */
enum end {
    WORTHLESS,
    RAN_OFF, /* the walk left the stack copy at its top, or met a return address of 0 */
    REACHED  /* the walk reached the root */
};

/* How a candidate's return address fits: by the call before that address. */
enum call {
    STALE,   /* the call goes to other code: an earlier call left the record */
    OTHER,   /* the call goes to another function of the module */
    UNKNOWN, /* the call may go to the frame's function */
    CONFIRMED
};

/* Walks with `fp` as the frame pointer. Returns WORTHLESS, RAN_OFF or REACHED. */
static enum end try_record(struct hd_walker *w, uint64_t fp) {
    struct hd_walker t = *w;
    struct hd_frame few[2]; /* required by the walk, and not read */
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
    /* If the copy ends below the root, no walk can do better than to leave the copy at its top. A return
     * address of 0 may be the end of a coroutine's stack, or a word that a function left there. */
    uint64_t top = w->stack.address + w->stack.size;
    bool left_at_top = t.stop == HD_STOP_UNREADABLE && t.regs.sp > fp && t.regs.sp <= top &&
                       top - t.regs.sp < w->stack.size / 4;
    return left_at_top || t.stop == HD_STOP_ROOT ? RAN_OFF : WORTHLESS;
}

/* True if a call of `target` enters the function at `start`. If no table gives the start, the function begins
 * shortly below the frame's pc. */
static bool enters(const struct hd_walker *w, uint64_t start, uint64_t target) {
    return start != 0 ? target - start < CALL_SLACK : w->regs.pc - target < FUNCTION_BYTES;
}

/* Checks whether the call before the return address goes to the function at `start`. A direct call to another
 * function is no proof against the record. That function may end in a tail call, or one function may have two
 * parts. Another module's function does so less often. */
static enum call judge_call(struct hd_walker *w, uint64_t start, uint64_t target) {
    const struct hd_memory *memory = &w->u->modules->memory;
    enum call sure = start != 0 ? CONFIRMED : UNKNOWN; /* near code may be another function, too */
    uint64_t slot, to;
    if (target == 0) {
        return UNKNOWN;
    }
    if (enters(w, start, target)) {
        return sure;
    }
    if (hd_arch_is_stub(memory, target, &slot)) {
        return hd_memory_read(memory, slot, &to, sizeof to) && enters(w, start, to) ? sure : UNKNOWN;
    }
    if (start == 0) {
        return STALE;
    }
    if (hd_unwinder_rule(w->u, target)->rule.kind > HD_RULE_FP) {
        return UNKNOWN; /* no table describes it as a function: it may be a stub */
    }
    int here = hd_modules_at(w->u->modules, start), there = hd_modules_at(w->u->modules, target);
    return here == there ? OTHER : STALE;
}

bool hd_scan(struct hd_walker *w, uint64_t start) {
    if (w->trial || w->scans_left == 0) {
        return false;
    }
    w->scans_left--;
    uint64_t found = 0, ran_off = 0, top = w->stack.address + w->stack.size;
    enum call best = STALE; /* of `found` */
    unsigned candidates = w->candidates_left < HD_SCAN_CANDIDATES ? w->candidates_left : HD_SCAN_CANDIDATES;
    for (uint64_t at = (w->regs.sp + 7) & ~UINT64_C(7); at < top && top - at >= 16; at += 8) {
        uint64_t pair[2], target;
        if (!hd_stack_read(&w->stack, at, pair, sizeof pair)) {
            break;
        }
        /* If `start` is 0, no unwind table gives the caller. So the record's frame pointer must be possible.
         */
        if ((start == 0 && pair[0] != 0 && (pair[0] <= at || pair[0] >= top)) ||
            !hd_walk_return_is_plausible(w, hd_arch_strip(pair[1]), true, &target)) {
            continue;
        }
        if (candidates == 0 || w->trial_steps_left == 0) {
            break;
        }
        candidates--;
        w->candidates_left--;
        enum call call = judge_call(w, start, target);
        if (found != 0 && call != CONFIRMED && (best != STALE || call != UNKNOWN)) {
            continue;
        }
        enum end end = try_record(w, at);
        if (end == RAN_OFF && ran_off == 0) {
            ran_off = at;
        }
        if (end != REACHED) {
            continue;
        }
        found = at;
        best = call;
        if (call >= UNKNOWN) {
            break;
        }
    }
    if (found == 0) {
        found = ran_off;
        best = UNKNOWN;
    }
    if (found == 0) {
        return false;
    }
    w->regs.r[HD_ARCH_FP] = found;
    w->regs.valid |= UINT64_C(1) << HD_ARCH_FP;
    w->used_scan = true;
    w->confirmed = best == CONFIRMED;
    return true;
}
