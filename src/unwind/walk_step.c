/* SPDX-License-Identifier: MIT
 *
 * Takes the steps for which there is no plain rule: by whole rows (signal frames, expressions), and through
 * code without unwind tables. On the worker thread, also during a hang, so without allocation.
 */
#include <errno.h>

#include "unwind/walk.h"

#define ENTRY_BYTES 128u /* the code at a module's entry has fewer */

/* ---- whole rows ----------------------------------------------------------------------------- */

/* Reads a register's value in the current frame, not in the caller's. False: the value is not known. */
static bool own_value(const struct hd_regs *regs, uint64_t reg, uint64_t *value) {
    if (reg == HD_ARCH_SP) {
        *value = regs->sp;
    } else if (reg == HD_ARCH_PC) {
        *value = regs->pc;
    } else if (reg < HD_REGS_MAX && (regs->valid >> reg & 1) != 0) {
        *value = regs->r[reg];
    } else {
        return false;
    }
    return true;
}

static int row_expression(const struct hd_walker *w, int64_t code, uint32_t bytes, const uint64_t *first,
                          uint64_t *value, uint32_t *missing) {
    return hd_expression(&w->u->modules->memory, (uint64_t)code, bytes, &w->regs, &w->stack, first, value,
                         missing);
}

static int row_cfa(const struct hd_walker *w, const struct hd_row *row, uint64_t *cfa, uint32_t *missing) {
    if (!row->cfa_known) {
        return -EINVAL;
    }
    if (row->cfa_expression) {
        return row_expression(w, (int64_t)row->cfa_code, row->cfa_bytes, NULL, cfa, missing);
    }
    if (!own_value(&w->regs, row->cfa_register, cfa)) {
        *missing = row->cfa_register;
        return -ENODATA;
    }
    if (row->cfa_register == HD_ARCH_FP) {
        *cfa = hd_arch_frame_address(*cfa);
    }
    *cfa += (uint64_t)row->cfa_offset;
    return 0;
}

/* Finds the caller's value of register `reg`. Returns 0, or a negative errno value:
 *
 * -ENOENT: the value is lost or was never known. -EFAULT: the value lies outside of the stack copy.
 *
 * -EINVAL: the rule is malformed. -ENODATA: the rule needs a register that is not known. */
static int row_register(const struct hd_walker *w, const struct hd_row *row, uint32_t reg, uint64_t cfa,
                        uint64_t *value) {
    const struct hd_register_rule *rule = &row->reg[reg];
    uint64_t address = cfa + (uint64_t)rule->value;
    uint32_t missing;
    int rc = 0;
    switch (rule->how) {
    case HD_HOW_UNDEFINED:
        return -ENOENT;
    case HD_HOW_UNSPECIFIED: /* The ABI decides. A callee-saved register has its value still; the caller
                                cannot rely on others. */
        if (!row->signal_frame && (HD_ARCH_CALLEE_SAVED >> reg & 1) == 0 && reg != row->return_column) {
            return -ENOENT;
        }
        return own_value(&w->regs, reg, value) ? 0 : -ENOENT;
    case HD_HOW_SAME:
        return own_value(&w->regs, reg, value) ? 0 : -ENOENT;
    case HD_HOW_VAL_OFFSET:
        *value = address;
        return 0;
    case HD_HOW_REGISTER:
        return own_value(&w->regs, (uint64_t)rule->value, value) ? 0 : -ENODATA;
    case HD_HOW_VAL_EXPRESSION:
        return row_expression(w, rule->value, rule->bytes, &cfa, value, &missing);
    case HD_HOW_EXPRESSION:
        rc = row_expression(w, rule->value, rule->bytes, &cfa, &address, &missing);
        break;
    default:
        break;
    }
    if (rc != 0 || hd_stack_read(&w->stack, address, value, 8)) {
        return rc;
    }
    /* In an epilogue a row may name the place of a register that was popped already. If that place is below
     * the stack pointer, the register itself has the caller's value. */
    return address < w->regs.sp && reg != row->return_column && own_value(&w->regs, reg, value) ? 0 : -EFAULT;
}

static uint8_t stop_of(int error) {
    if (error == -EFAULT) {
        return HD_STOP_UNREADABLE;
    }
    return HD_STOP_NO_UNWIND_INFORMATION;
}

/* True if the caller's stack pointer may equal the current frame's: the function has popped the return
 * address into a register, as libc's vfork does. Only for a frame whose pc is exact, because a call would
 * have pushed a return address. So two frames in a row cannot have the same stack pointer. */
static bool keeps_sp(const struct hd_walker *w, const struct hd_row *row) {
    return hd_pc_is_exact(w->trust) && row->reg[row->return_column].how == HD_HOW_REGISTER;
}

/* Sets w->regs to the caller's registers by the row's rules. A register that cannot be read becomes unknown;
 * if it is the return address, the walk stops. Returns HD_STEP_ON or an enum hd_stop. */
static uint8_t row_registers(struct hd_walker *w, const struct hd_row *row, uint64_t cfa) {
    struct hd_regs next = {.sp = cfa};
    uint64_t value;
    if (row->return_column >= HD_ARCH_REGS) {
        return HD_STOP_NO_UNWIND_INFORMATION;
    }
    int rc = row_register(w, row, row->return_column, cfa, &value);
    if (rc == -ENOENT) {
        return row->reg[row->return_column].how == HD_HOW_UNDEFINED ? HD_STOP_ROOT
                                                                    : HD_STOP_NO_UNWIND_INFORMATION;
    }
    if (rc != 0) {
        return stop_of(rc);
    }
    next.pc = hd_arch_strip(value);
    for (uint32_t reg = 0; reg < HD_ARCH_REGS; reg++) {
        if (reg == HD_ARCH_PC || (reg == HD_ARCH_SP && row->reg[reg].how == HD_HOW_UNSPECIFIED) ||
            row_register(w, row, reg, cfa, &value) != 0) {
            continue;
        }
        if (reg == HD_ARCH_SP) {
            next.sp = value;
        } else {
            next.r[reg] = value;
            next.valid |= UINT64_C(1) << reg;
        }
    }
    if (!row->signal_frame) {
        next.valid &= ~(UINT64_C(1) << row->return_column);
    }
    /* The stack pointer must grow, except from a signal handler, which may have a separate stack. */
    if (!row->signal_frame && (next.sp < w->regs.sp || (next.sp == w->regs.sp && !keeps_sp(w, row)))) {
        return HD_STOP_NO_PROGRESS;
    }
    w->regs = next;
    w->trust = row->signal_frame ? HD_TRUST_SIGNAL : HD_TRUST_CFI;
    return HD_STEP_ON;
}

static uint8_t step_row(struct hd_walker *w, uint64_t start) {
    const struct hd_row *row = hd_unwinder_row(w->u, w->regs.pc - !hd_pc_is_exact(w->trust));
    uint32_t missing = HD_REGS_MAX;
    uint64_t cfa;
    if (row == NULL) {
        return HD_STOP_NO_UNWIND_INFORMATION;
    }
    int rc = row_cfa(w, row, &cfa, &missing);
    if (rc == -ENODATA && missing == HD_ARCH_FP && hd_scan(w, start)) {
        row = hd_unwinder_row(w->u, w->regs.pc - !hd_pc_is_exact(w->trust));
        rc = row != NULL ? row_cfa(w, row, &cfa, &missing) : -EINVAL;
        if (rc == 0) {
            uint8_t stop = row_registers(w, row, cfa);
            if (stop == HD_STEP_ON && w->trust == HD_TRUST_CFI) {
                w->trust = HD_TRUST_SCAN;
            }
            return stop;
        }
    }
    return rc == 0 ? row_registers(w, row, cfa) : stop_of(rc);
}

/* ---- code without unwind tables --------------------------------------------------------------- */

static bool accept(struct hd_walker *w, const struct hd_regs *next, bool strict) {
    uint64_t target;
    if (next->pc == 0 || !hd_walk_return_is_plausible(w, next->pc, strict, &target)) {
        return false;
    }
    w->regs = *next;
    w->trust = HD_TRUST_FRAME_POINTER;
    return true;
}

/* Steps to the caller of a function that has no frame at pc. The function has not made the frame yet, has
 * removed the frame, or never makes one. True: w->regs are the caller's. */
static bool step_without_frame(struct hd_walker *w, enum hd_rule_kind kind) {
    const struct hd_memory *memory = &w->u->modules->memory;
    struct hd_regs next;
    uint8_t byte;
    if (hd_arch_step_bare(memory, &w->stack, &w->regs, &next) == 1 && accept(w, &next, false)) {
        return true;
    }
    if (hd_arch_step_straight(memory, &w->stack, &w->regs, &next) == 1 && accept(w, &next, true)) {
        return true;
    }
    /* Code of a module may be a leaf without a frame. JIT code has frames. But if there is no memory at pc,
     * the program called an invalid address, and the call has pushed its return address only. */
    if (kind == HD_RULE_NO_CFI || !hd_memory_read(memory, w->regs.pc, &byte, 1)) {
        return hd_arch_step_leaf(&w->stack, &w->regs, &next) == 1 && accept(w, &next, true);
    }
    return false;
}

/* Steps from a frame whose pc is a return address, in code without tables and frame pointer, such as crt's
 * _init. True: w->regs are the caller's. */
static bool step_straight(struct hd_walker *w) {
    uint64_t pc = w->regs.pc - 1;
    struct hd_regs next;
    if ((hd_unwinder_notes(w->u, pc, false) & HD_NOTE_NOT_STRAIGHT) != 0) {
        return false;
    }
    if (hd_arch_step_straight(&w->u->modules->memory, &w->stack, &w->regs, &next) == 1 &&
        accept(w, &next, true)) {
        return true;
    }
    hd_unwinder_note(w->u, pc, false, HD_NOTE_NOT_STRAIGHT);
    return false;
}

/* Steps from the kernel's return code of a signal handler, for a libc that has no unwind table for that code.
 * Returns HD_STEP_ON, or HD_STOP_NO_UNWIND_INFORMATION: other code is at pc, or HD_STOP_UNREADABLE. */
static uint8_t step_signal(struct hd_walker *w) {
    uint64_t pc = w->regs.pc - !hd_pc_is_exact(w->trust);
    struct hd_regs next = w->regs;
    if ((hd_unwinder_notes(w->u, pc, false) & HD_NOTE_NO_SIGNAL) != 0) {
        return HD_STOP_NO_UNWIND_INFORMATION;
    }
    int rc = hd_arch_step_signal(&w->u->modules->memory, &w->stack, &w->regs, &next);
    if (rc < 0) {
        return stop_of(rc);
    }
    if (rc == 0) {
        hd_unwinder_note(w->u, pc, false, HD_NOTE_NO_SIGNAL);
        return HD_STOP_NO_UNWIND_INFORMATION;
    }
    w->regs = next;
    w->trust = HD_TRUST_SIGNAL;
    return HD_STEP_ON;
}

/* True if the pc, a return address, is the start of a function. No call can precede it: makecontext wrote it
 * below the first function of a coroutine's stack. So this frame is the outermost one. */
static bool begins_a_function(struct hd_walker *w) {
    uint64_t pc = w->regs.pc;
    if (hd_cached_start(hd_unwinder_rule(w->u, pc)) != pc) {
        return false;
    }
    w->root = w->frames[w->at - 1].start = pc;
    return true;
}

/* True if the pc is in the code at the module's entry, which nothing calls. The assembly there has no table
 * in the loader (_dl_start_user) and in musl. */
static bool is_at_entry(struct hd_walker *w) {
    int index = hd_modules_at(w->u->modules, w->regs.pc - 1);
    uint64_t entry = index >= 0 ? w->u->modules->module[index].entry : 0;
    if (entry == 0 || w->regs.pc - entry >= ENTRY_BYTES ||
        hd_unwinder_rule(w->u, entry)->rule.kind != HD_RULE_NO_CFI) {
        return false;
    }
    w->root = entry;
    return true;
}

static uint8_t step_undescribed(struct hd_walker *w, enum hd_rule_kind kind) {
    if (kind == HD_RULE_NO_CFI) {
        uint8_t stop = step_signal(w);
        if (stop != HD_STOP_NO_UNWIND_INFORMATION) {
            return stop;
        }
        if ((!w->trial && !hd_pc_is_exact(w->trust) && begins_a_function(w)) || is_at_entry(w)) {
            return HD_STOP_ROOT;
        }
    }
    if (hd_pc_is_exact(w->trust) ? step_without_frame(w, kind) : kind == HD_RULE_NO_CFI && step_straight(w)) {
        return HD_STEP_ON;
    }
    if ((w->regs.valid >> HD_ARCH_FP & 1) != 0) {
        uint8_t stop = hd_step_record(w, w->regs.r[HD_ARCH_FP], HD_TRUST_FRAME_POINTER);
        if (stop != HD_STOP_NO_UNWIND_INFORMATION) {
            return stop;
        }
    }
    if (hd_scan(w, 0)) {
        return hd_step_record(w, w->regs.r[HD_ARCH_FP], w->confirmed ? HD_TRUST_SCAN : HD_TRUST_GAP);
    }
    return HD_STOP_NO_UNWIND_INFORMATION;
}

/* Steps by a plain rule that needs the frame pointer, after a search for the unknown frame pointer. */
static uint8_t step_lost_fp(struct hd_walker *w, uint64_t start) {
    if (!hd_scan(w, start)) {
        return HD_STOP_NO_UNWIND_INFORMATION;
    }
    uint8_t stop = step_row(w, start);
    if (stop == HD_STEP_ON && w->trust == HD_TRUST_CFI) {
        w->trust = HD_TRUST_SCAN;
    }
    return stop;
}

uint8_t hd_step(struct hd_walker *w, enum hd_rule_kind kind, uint64_t start) {
    switch (kind) {
    case HD_RULE_ROOT:
        return HD_STOP_ROOT;
    case HD_RULE_ROW:
        return step_row(w, start);
    case HD_RULE_SP:
    case HD_RULE_FP:
        return step_lost_fp(w, start);
    case HD_RULE_FOREIGN:
        if (hd_modules_at(w->u->modules, w->regs.pc - !hd_pc_is_exact(w->trust)) < 0) {
            return step_undescribed(w, kind);
        }
        return step_row(w, start); /* a module was loaded where JIT code was before */
    case HD_RULE_NO_CFI:
    case HD_RULE_EMPTY:
    default:
        return step_undescribed(w, kind);
    }
}
