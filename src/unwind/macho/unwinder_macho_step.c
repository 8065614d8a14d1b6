/* SPDX-License-Identifier: MIT
 *
 * Steps in Mach-O images that a frame's rule does not decide: the innermost frame, and the end of the walk.
 * On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/macho/innermost.h"
#include "unwind/macho/unwinder_macho.h"
#include "unwind/walk.h"

static bool follows_call(void *ctx, uint64_t ra, uint64_t *target) {
    return hd_walk_return_is_plausible(ctx, ra, true, target);
}

/* Steps by the frame record, if there is one. A frame pointer of 0 ends the walk only if a frame restored it.
 */
static uint8_t by_record(struct hd_walker *w) {
    uint64_t fp = w->regs.r[HD_ARCH_FP];
    if ((w->regs.valid >> HD_ARCH_FP & 1) == 0) {
        return HD_STEP_BY_RULE;
    }
    if (hd_arch_frame_address(fp) == 0 && !hd_pc_is_exact(w->trust)) {
        return HD_STOP_ROOT;
    }
    uint8_t stop = hd_step_record(w, fp, HD_TRUST_FRAME_POINTER);
    return stop != HD_STOP_NO_UNWIND_INFORMATION ? stop : HD_STEP_BY_RULE;
}

/* Looks up the frame at `regs`, of which the pc is exact. False: the pc is in no module. */
static bool describe(struct hd_walker *w, const struct hd_regs *regs, struct hd_innermost *in) {
    struct hd_macho_look look;
    int index = hd_modules_at(w->u->modules, regs->pc);
    if (index < 0) {
        return false;
    }
    if (hd_macho_look(w->u, &w->u->modules->module[index], regs->pc, &w->u->one, &look) != 0) {
        look.kind = HD_COMPACT_NULL;
    }
    *in = (struct hd_innermost){
        .memory = &w->u->modules->memory,
        .stack = &w->stack,
        .regs = regs,
        .start = look.start,
        .stop = look.stop,
        .kind = look.kind,
        .stub = look.stub,
        .follows_call = follows_call,
        .ctx = w,
    };
    return true;
}

/* True if the caller's pc is in its prologue, behind a call of code that was moved out of it. Then x30 has a
 * value that the caller knows. */
static bool is_in_prologue(struct hd_walker *w, struct hd_regs *regs) {
    struct hd_innermost in;
    if (HD_ARCH_MACHO_CPU != HD_MACHO_CPU_ARM64 || !describe(w, regs, &in) ||
        !hd_innermost_is_outlined_aarch64(&in)) {
        return false;
    }
    regs->valid |= UINT64_C(1) << 30;
    return true;
}

static uint8_t innermost(struct hd_walker *w) {
    struct hd_regs next;
    struct hd_innermost in;
    if (!describe(w, &w->regs, &in)) {
        return HD_STEP_BY_RULE;
    }
    int answer = HD_ARCH_MACHO_CPU == HD_MACHO_CPU_ARM64 ? hd_innermost_aarch64(&in, &next)
                                                         : hd_innermost_x86_64(&in, &next);
    if (answer == HD_INNERMOST_RULE) {
        /* On arm64 x30 of a function with unknown bounds may be from an earlier call. */
        bool has_record =
            in.kind == HD_COMPACT_NULL && (in.start != 0 || HD_ARCH_MACHO_CPU == HD_MACHO_CPU_ARM64);
        return has_record ? by_record(w) : HD_STEP_BY_RULE;
    }
    if (next.sp < w->regs.sp) {
        return HD_STOP_NO_PROGRESS;
    }
    w->trust = w->steps == 1 && is_in_prologue(w, &next) ? HD_TRUST_CONTEXT : HD_TRUST_CFI;
    w->regs = next;
    return HD_STEP_ON;
}

uint8_t hd_macho_step(struct hd_walker *w, const struct hd_cached_rule *e) {
    if (hd_pc_is_exact(w->trust)) {
        return innermost(w);
    }
    /* A caller has made a frame: its own call has overwritten x30. */
    bool is_frameless = e->rule.kind == HD_RULE_SP && !hd_arch_return_known(&e->rule, w->regs.valid);
    if (is_frameless || e->rule.kind == HD_RULE_NO_CFI || e->rule.kind == HD_RULE_FOREIGN) {
        uint8_t stop = by_record(w); /* this call may replace *e */
        return is_frameless && stop == HD_STEP_BY_RULE ? HD_STOP_NO_UNWIND_INFORMATION : stop;
    }
    bool is_last = e->rule.kind == HD_RULE_FP && (w->regs.valid >> HD_ARCH_FP & 1) != 0 &&
                   hd_arch_frame_address(w->regs.r[HD_ARCH_FP]) == 0;
    return is_last ? HD_STOP_ROOT : HD_STEP_BY_RULE;
}
