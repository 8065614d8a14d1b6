/* SPDX-License-Identifier: MIT
 *
 * The caller of the innermost frame on x86-64. Three sources, the most certain first:
 *
 * 1. The instructions from pc to the end: `ret`, or a jump out of the function. This file runs them on the
 * registers and the copy of the stack. Any way to the end will do: compilers give an address one stack
 * layout.
 *
 * 2. The instructions from the function's start to pc. They show how far the prologue has come.
 *
 * 3. The call of this function. Its return address may be at the stack pointer, and not above the saved frame
 * pointer. Then the function has no frame now.
 *
 * On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/macho/innermost.h"
#include "unwind/macho/intel_code.h"

#define RBP 6u
#define RSP 7u
#define GENERAL 16u
#define CALLEE_SAVED (UINT64_C(1) << 3 | UINT64_C(1) << 6 | UINT64_C(0xf) << 12)
#define RUN_MAX 48u
#define PROLOGUE_BYTES_MAX 1024u
#define WAYS_MAX 8u /* branches of which the target is known and not reached yet */

/* Sets *next to the caller, whose return address is at the stack pointer of `now`. False: the copy lacks it.
 */
static bool set_caller(const struct hd_stack *stack, const struct hd_regs *now, struct hd_regs *next) {
    uint64_t ra;
    if (!hd_stack_read(stack, now->sp, &ra, sizeof ra)) {
        return false;
    }
    *next = *now;
    next->pc = ra;
    next->sp = now->sp + 8;
    next->valid &= CALLEE_SAVED;
    return true;
}

static bool set_caller_at(const struct hd_innermost *in, uint64_t offset, struct hd_regs *next) {
    struct hd_regs now = *in->regs;
    now.sp += offset;
    return set_caller(in->stack, &now, next);
}

/* ---- from pc to the end --------------------------------------------------------------------- */

static bool pop(const struct hd_stack *stack, struct hd_regs *regs, unsigned reg) {
    regs->valid |= UINT64_C(1) << reg;
    if (reg == RSP || !hd_stack_read(stack, regs->sp, &regs->r[reg], 8)) {
        return false;
    }
    regs->sp += 8;
    return true;
}

/* Applies one instruction to the registers. False: the result is not known. */
static bool run(const struct hd_intel_code *c, const struct hd_stack *stack, struct hd_regs *regs) {
    switch (c->kind) {
    case HD_INTEL_BRANCH:
        return true;
    case HD_INTEL_PLAIN:
        if (c->reg < GENERAL) {
            regs->valid &= ~(UINT64_C(1) << c->reg);
        }
        return true;
    case HD_INTEL_POP:
        return pop(stack, regs, c->reg);
    case HD_INTEL_MOVE_SP:
        regs->sp += (uint64_t)c->value;
        return c->value >= 0;
    case HD_INTEL_SP_BY_FP:
        regs->sp = regs->r[RBP] + (uint64_t)c->value;
        return (regs->valid >> RBP & 1) != 0;
    case HD_INTEL_LEAVE:
        regs->sp = regs->r[RBP];
        return (regs->valid >> RBP & 1) != 0 && pop(stack, regs, RBP);
    default:
        return false;
    }
}

/* True if the instruction before pc pops rbp. */
static bool is_behind_pop(const struct hd_innermost *in) {
    uint8_t before;
    return hd_memory_read(in->memory, in->regs->pc - 1, &before, 1) && before == 0x5d;
}

/* Runs the code from pc on. True: it left the function, and *next is the caller. */
static bool run_to_end(const struct hd_innermost *in, struct hd_regs *next) {
    struct hd_regs now = *in->regs;
    struct hd_intel_window window = {.memory = in->memory};
    bool popped = is_behind_pop(in);
    uint64_t target;
    for (unsigned i = 0; i < RUN_MAX; i++) {
        struct hd_intel_code c;
        bool is_behind = in->stop != 0 && now.pc - in->start >= in->stop - in->start;
        if (is_behind ||
            !hd_intel_read(&window, now.pc, &c)) { /* no code follows a call that never returns */
            return false;
        }
        if (c.kind == HD_INTEL_JUMP && (c.target - in->start < in->stop - in->start || in->stop == 0)) {
            now.pc = c.target;
            continue;
        }
        if (c.kind == HD_INTEL_RETURN || c.kind == HD_INTEL_JUMP) {
            return set_caller(in->stack, &now, next);
        }
        if (c.kind == HD_INTEL_JUMP_INDIRECT && popped) { /* else a jump by a table of the same function */
            return set_caller(in->stack, &now, next) && in->follows_call(in->ctx, next->pc, &target);
        }
        if (!run(&c, in->stack, &now)) {
            return false;
        }
        popped |= c.kind == HD_INTEL_POP || c.kind == HD_INTEL_LEAVE;
        now.pc += c.length;
    }
    return false;
}

/* ---- from the start to pc ------------------------------------------------------------------- */

struct prologue {
    int64_t moved;    /* the stack pointer, from its value at the start */
    uint64_t changed; /* mask of registers with another value than at the start */
    uint64_t stored;  /* mask of registers whose value is in slot[] */
    int64_t slot[GENERAL];
    bool made;       /* rbp is the frame pointer */
    int64_t made_at; /* its value, from the stack pointer's at the start */
};

/* A way through the function's start: the state at its branches' targets. */
struct ways {
    uint64_t target[WAYS_MAX];
    struct prologue state[WAYS_MAX];
    unsigned count;
};

/* Follows one instruction. False: the state behind it is not known. */
static bool follow(struct prologue *p, const struct hd_intel_code *c) {
    uint64_t bit = c->reg < GENERAL ? UINT64_C(1) << c->reg : 0;
    switch (c->kind) {
    case HD_INTEL_PUSH:
        p->moved -= 8;
        if (bit != 0 && ((p->changed | p->stored) & bit) == 0) {
            p->stored |= bit;
            p->slot[c->reg] = p->moved;
        }
        return true;
    case HD_INTEL_POP:
        p->moved += 8;
        p->changed |= bit;
        return true;
    case HD_INTEL_MOVE_SP:
        p->moved += c->value;
        return true;
    case HD_INTEL_SET_FP:
        p->made = true;
        p->made_at = p->moved + c->value;
        p->changed |= UINT64_C(1) << RBP;
        return true;
    case HD_INTEL_PLAIN:
        p->changed |= bit;
        return true;
    case HD_INTEL_BRANCH: /* its other way is a part of the same function, with the same state */
    case HD_INTEL_CALL:
        return true;
    default:
        return false;
    }
}

static void add_way(struct ways *w, uint64_t target, const struct prologue *p) {
    if (w->count < WAYS_MAX) {
        w->target[w->count] = target;
        w->state[w->count++] = *p;
    }
}

/* Takes the nearest way that leads to `at` or behind it, and not behind pc. False: there is none. */
static bool take_way(struct ways *w, uint64_t *at, uint64_t pc, struct prologue *p) {
    unsigned best = w->count;
    for (unsigned i = 0; i < w->count; i++) {
        bool leads = w->target[i] >= *at && w->target[i] <= pc;
        if (leads && (best == w->count || w->target[i] < w->target[best])) {
            best = i;
        }
    }
    if (best == w->count) {
        return false;
    }
    *at = w->target[best];
    *p = w->state[best];
    w->target[best] = 0;
    return true;
}

/* Follows the code from the start to pc. Returns true if *p is the state at pc. Else *p is the state at the
 * end of the last way that was followed. Behind the first call or branch with a frame, the table knows the
 * state. */
static bool follow_to_pc(const struct hd_innermost *in, struct prologue *p) {
    struct hd_intel_window window = {.memory = in->memory};
    struct ways ways = {.count = 0};
    *p = (struct prologue){.moved = 0};
    uint64_t at = in->start, pc = in->regs->pc;
    uint64_t last = in->start + PROLOGUE_BYTES_MAX;
    while (in->start != 0 && at < pc && at < last) {
        struct hd_intel_code c;
        bool is_known = hd_intel_read(&window, at, &c);
        at += c.length + (c.length == 0);
        bool ends = !is_known || (p->made && (c.kind == HD_INTEL_BRANCH || c.kind == HD_INTEL_CALL));
        if (!ends && (c.kind == HD_INTEL_BRANCH || c.kind == HD_INTEL_JUMP)) {
            add_way(&ways, c.target, p);
        }
        if ((ends || !follow(p, &c)) && !take_way(&ways, &at, pc, p)) {
            return false;
        }
    }
    return in->start != 0 && at == pc;
}

/* Makes the caller's registers of a prologue's state. `start_sp`: the stack pointer at the function's start.
 */
static bool caller_of(const struct hd_innermost *in, const struct prologue *p, uint64_t start_sp,
                      struct hd_regs *next) {
    struct hd_regs now = *in->regs;
    now.sp = start_sp;
    for (unsigned reg = 0; reg < GENERAL; reg++) {
        if ((p->changed >> reg & 1) != 0 &&
            ((p->stored >> reg & 1) == 0 ||
             !hd_stack_read(in->stack, now.sp + (uint64_t)p->slot[reg], &now.r[reg], 8))) {
            now.valid &= ~(UINT64_C(1) << reg);
        }
    }
    return set_caller(in->stack, &now, next);
}

/* Guesses the caller of a function without a table: the prologue's state lasts. */
static bool caller_in_body(const struct hd_innermost *in, const struct prologue *p, struct hd_regs *next) {
    uint64_t target,
        from = p->made ? in->regs->r[RBP] - (uint64_t)p->made_at : in->regs->sp - (uint64_t)p->moved;
    return from >= in->regs->sp && caller_of(in, p, from, next) &&
           in->follows_call(in->ctx, next->pc, &target);
}

/* ---- by values ------------------------------------------------------------------------------ */

/* True if the return address of a call of this function is at the stack pointer, and not above the saved
 * frame pointer. */
static bool is_frameless_now(const struct hd_innermost *in) {
    uint64_t top, record[2], target;
    if (in->start == 0 || !hd_stack_read(in->stack, in->regs->sp, &top, sizeof top) ||
        !in->follows_call(in->ctx, top, &target) || target != in->start) {
        return false;
    }
    return !hd_stack_read(in->stack, in->regs->r[RBP], record, sizeof record) ||
           !in->follows_call(in->ctx, record[1], &target) || target != in->start;
}

/* How far above the stack pointer the return address is in a stub. A lazy stub pushes a number and jumps to
 * code that pushes an address and jumps to the loader. */
static uint64_t pushed_by_stub(const struct hd_innermost *in) {
    struct hd_intel_window window = {.memory = in->memory};
    struct hd_intel_code c;
    uint8_t before[2] = {0};
    if (!hd_intel_read(&window, in->regs->pc, &c)) {
        return 0;
    }
    (void)hd_memory_read(in->memory, in->regs->pc - 2, before, sizeof before);
    bool is_pushed = before[0] == 0x41 && before[1] == 0x53; /* push %r11 */
    if (c.kind == HD_INTEL_JUMP_INDIRECT) {
        return is_pushed ? 16 : 0;
    }
    bool is_address = c.kind == HD_INTEL_PLAIN && c.reg == 11; /* lea, %r11 */
    return c.kind == HD_INTEL_JUMP || is_address || (c.kind == HD_INTEL_PUSH && c.reg == 11) ? 8 : 0;
}

int hd_innermost_x86_64(const struct hd_innermost *in, struct hd_regs *next) {
    struct prologue p;
    bool found = false;
    if (in->stub || in->regs->pc == in->start) {
        found = set_caller_at(in, in->stub ? pushed_by_stub(in) : 0, next);
    } else if (run_to_end(in, next)) {
        found = true;
    } else if (follow_to_pc(in, &p)) {
        found = caller_of(in, &p, in->regs->sp - (uint64_t)p.moved, next);
    } else if (in->kind == HD_COMPACT_FRAME && is_frameless_now(in)) {
        found = set_caller_at(in, 0, next);
    } else if (in->kind == HD_COMPACT_NULL && in->start != 0) {
        found = caller_in_body(in, &p, next);
    }
    return found ? HD_INNERMOST_CALLER : HD_INNERMOST_RULE;
}
