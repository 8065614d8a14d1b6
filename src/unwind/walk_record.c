/* SPDX-License-Identifier: MIT
 *
 * Code without unwind tables is hand-written assembly or a crt stub of a module, or JIT code. The walk leaves
 * such code by its frame record: the caller's frame pointer and the return address, at the frame pointer. The
 * record must lie in the stack copy, above the stack pointer. The saved frame pointer must be higher, unless
 * the caller needs none.
 *
 * The return address must be plausible: an unwind table covers it, or it is behind a call instruction. Only
 * the kernel's memory map shows whether memory outside of modules is executable, and a read of the map takes
 * too long. Data behind bytes that look like a call instruction is rare enough.
 * On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/walk.h"

#define LOWEST_CODE 65536u /* no lower address is mapped (vm.mmap_min_addr) */

bool hd_walk_return_is_plausible(struct hd_walker *w, uint64_t ra, bool strict, uint64_t *target) {
    *target = 0;
    if (ra < LOWEST_CODE || ra - w->stack.address < w->stack.size) {
        return false;
    }
    bool foreign = hd_modules_at(w->u->modules, ra - 1) < 0;
    if (!strict && !foreign && hd_unwinder_rule(w->u, ra - 1)->rule.kind != HD_RULE_NO_CFI) {
        return true;
    }
    if (!strict && (hd_unwinder_notes(w->u, ra - 1, foreign) & HD_NOTE_AFTER_CALL) != 0) {
        return true;
    }
    const struct hd_memory *memory = &w->u->modules->memory;
    bool guess = foreign && (strict || w->trial);
    if ((guess && !hd_memory_touched(memory, ra - 1)) || !hd_arch_after_call(memory, ra, target)) {
        return false;
    }
    if (!strict) {
        hd_unwinder_note(w->u, ra - 1, foreign, HD_NOTE_AFTER_CALL);
    }
    return true;
}

/* Also accepts any executable address, if `is_code` can check that: an interpreter may push a return address
 * that is not behind a call instruction. */
static bool may_return_to(struct hd_walker *w, uint64_t ra) {
    const struct hd_modules *m = w->u->modules;
    uint64_t target;
    return hd_walk_return_is_plausible(w, ra, false, &target) || (m->is_code != NULL && m->is_code(m, ra));
}

/* True if code of a module called from before `ra`, and its table finds the caller's frame without a frame
 * pointer. Such code may have any value in that register, and a function that it calls saves the value. A
 * trial requires a plain rule, and a record of a module's code. Words that lie on a stack by chance have them
 * less often. */
static bool needs_no_frame_pointer(struct hd_walker *w, uint64_t ra) {
    uint64_t target;
    if (w->trial && hd_modules_at(w->u->modules, w->regs.pc - 1) < 0) {
        return false;
    }
    if (hd_modules_at(w->u->modules, ra - 1) < 0 || !hd_walk_return_is_plausible(w, ra, true, &target)) {
        return false;
    }
    uint8_t kind = hd_unwinder_rule(w->u, ra - 1)->rule.kind;
    return w->trial ? kind == HD_RULE_SP || kind == HD_RULE_ROOT : kind != HD_RULE_FP;
}

/* Returns the stack pointer of the code at `ra`, whose frame pointer is `fp`. `above`: the end of the
 * callee's record. The callee's frame may end higher. But the code has a record of its own, at `fp`, and the
 * code's rule gives the distance. */
static uint64_t stack_pointer(struct hd_walker *w, uint64_t ra, uint64_t fp, uint64_t above) {
    if (HD_ARCH_RECORD_ENDS_FRAME || hd_modules_at(w->u->modules, ra - 1) < 0) {
        return above;
    }
    const struct hd_rule *rule = &hd_unwinder_rule(w->u, ra - 1)->rule;
    const int8_t words = rule->slot[HD_ARCH_FP_SLOT];
    uint64_t sp = fp - (uint64_t)(8 * words) - (uint64_t)(int64_t)rule->cfa_offset;
    return rule->kind == HD_RULE_SP && words != 0 && sp > above ? sp : above;
}

uint8_t hd_step_record(struct hd_walker *w, uint64_t record, enum hd_trust trust) {
    uint64_t pair[2];
    record = hd_arch_frame_address(record);
    if (record % 8 != 0 || record < w->regs.sp || !hd_stack_read(&w->stack, record, pair, sizeof pair)) {
        return HD_STOP_NO_UNWIND_INFORMATION;
    }
    uint64_t ra = hd_arch_strip(pair[1]);
    pair[0] = hd_arch_frame_address(pair[0]);
    if (pair[0] == 0 && ra == 0) {
        return HD_STOP_ROOT;
    }
    bool is_frame = pair[0] == 0 || pair[0] > record;
    if (is_frame ? !may_return_to(w, ra) : !needs_no_frame_pointer(w, ra)) {
        return HD_STOP_NO_UNWIND_INFORMATION;
    }
    w->regs.pc = ra;
    w->regs.sp = stack_pointer(w, ra, pair[0], record + 16);
    w->regs.r[HD_ARCH_FP] = pair[0];
    w->regs.valid = UINT64_C(1) << HD_ARCH_FP; /* the places of other saved registers are not known */
    w->trust = (uint8_t)trust;
    return HD_STEP_ON;
}
