/* SPDX-License-Identifier: MIT
 *
 * The caller of the innermost frame on arm64. Three sources, the most certain first:
 *
 * 1. The instructions from pc to the end: `ret`, or a jump out of the function. This file runs them on the
 * registers and the copy of the stack. Any way to the end will do: compilers give an address one stack
 * layout.
 *
 * 2. The instructions from the function's start to pc. They show how far the prologue has come.
 *
 * 3. The values of registers. If x30 lies in this function, the function has made a call, so it has a frame.
 * If x30 equals the return address of the frame record at x29, the frame is made. Else, if x30 is behind a
 * call instruction, it is the caller. Otherwise x30 has data, which needs a frame too.
 *
 * On the worker thread, also during a hang, so without allocation.
 */
#include <string.h>

#include "unwind/macho/arm_code.h"
#include "unwind/macho/innermost.h"

#define FP 29u
#define LR 30u
#define CALLEE_SAVED (UINT64_C(0x7ff) << 19)   /* x19 to x29 */
#define RUN_MAX 48u                            /* instructions to `ret` */
#define PROLOGUE_MAX 256u                      /* instructions from the function's start */
#define WAYS_MAX 8u                            /* branches of which the target is not reached yet */
#define ADDRESS_MASK ((UINT64_C(1) << 47) - 1) /* the bits above may be an authentication code */

static uint64_t strip(uint64_t address) {
    return address & ADDRESS_MASK;
}

static bool lies_in(const struct hd_innermost *in, uint64_t address) {
    return strip(address) - in->start < in->stop - in->start;
}

static void set_caller(const struct hd_regs *now, struct hd_regs *next) {
    *next = *now;
    next->pc = strip(now->r[LR]);
    next->valid &= CALLEE_SAVED;
}

/* ---- from pc to the end --------------------------------------------------------------------- */

/* Applies one instruction to the registers. False: the result is not known. */
static bool run(const struct hd_arm_code *c, const struct hd_stack *stack, struct hd_regs *regs) {
    uint64_t base = c->base == HD_ARM_SP ? regs->sp : regs->r[FP];
    switch (c->kind) {
    case HD_ARM_LOAD:
        for (unsigned i = 0; i < c->count; i++) {
            if (c->reg[i] < HD_ARM_SP) {
                regs->valid |= UINT64_C(1) << c->reg[i];
                if (!hd_stack_read(stack, base + (uint64_t)c->offset + 8 * (uint64_t)i, &regs->r[c->reg[i]],
                                   8)) {
                    return false;
                }
            }
        }
        regs->sp += (uint64_t)c->moved;
        return true;
    case HD_ARM_STORE:
        return c->moved == 0;
    case HD_ARM_BRANCH:
        return true;
    case HD_ARM_SET_SP:
        regs->sp = base + (uint64_t)c->offset;
        return true;
    case HD_ARM_COPY:
        if ((regs->valid >> c->reg[1] & 1) == 0) {
            regs->valid &= ~(UINT64_C(1) << c->reg[0]);
        } else {
            regs->r[c->reg[0]] = regs->r[c->reg[1]];
            regs->valid |= UINT64_C(1) << c->reg[0];
        }
        return true;
    case HD_ARM_PLAIN:
        for (unsigned i = 0; i < 2; i++) {
            if (c->reg[i] < HD_ARM_SP) {
                regs->valid &= ~(UINT64_C(1) << c->reg[i]);
            }
        }
        return true;
    default:
        return false;
    }
}

static bool knows_return(const struct hd_regs *regs) {
    return (regs->valid >> LR & 1) != 0;
}

/* Runs the code from regs->pc to a return, if it has no branches. */
static bool run_straight(const struct hd_innermost *in, struct hd_regs *regs) {
    struct hd_arm_window window = {.memory = in->memory};
    struct hd_arm_code c;
    for (unsigned i = 0; i < RUN_MAX / 2 && hd_arm_read(&window, regs->pc, &c); i++) {
        if (c.kind == HD_ARM_RETURN) {
            return knows_return(regs);
        }
        if (c.kind == HD_ARM_BRANCH || !run(&c, in->stack, regs)) {
            return false;
        }
        regs->pc += 4;
    }
    return false;
}

/* Leaves the function by a jump: to another function, or to code that the compiler moved out of the epilogue
 * (-Oz). Such code is straight. */
static bool jump_out(const struct hd_innermost *in, const struct hd_regs *now, uint64_t target,
                     struct hd_regs *next) {
    struct hd_regs behind = *now;
    behind.pc = target;
    if (run_straight(in, &behind)) {
        set_caller(&behind, next);
        return true;
    }
    if (!knows_return(now) || lies_in(in, now->r[LR])) {
        return false;
    }
    set_caller(now, next);
    return true;
}

/* Runs the code from pc on. True: it left the function, and *next is the caller. */
static bool run_to_end(const struct hd_innermost *in, struct hd_regs *next) {
    struct hd_regs now = *in->regs;
    struct hd_arm_window window = {.memory = in->memory};
    bool restored = false;
    for (unsigned i = 0; i < RUN_MAX; i++) {
        struct hd_arm_code c;
        bool is_behind = in->stop != 0 && !lies_in(in, now.pc);
        if (is_behind || !hd_arm_read(&window, now.pc, &c)) { /* no code follows a call that never returns */
            return false;
        }
        if (c.kind == HD_ARM_JUMP && (lies_in(in, c.target) || in->stop == 0)) {
            now.pc = c.target;
            continue;
        }
        if (c.kind == HD_ARM_JUMP) {
            return jump_out(in, &now, c.target, next);
        }
        if (c.kind == HD_ARM_RETURN ||
            (c.kind == HD_ARM_JUMP_REGISTER && restored && !lies_in(in, now.r[LR]))) {
            set_caller(&now, next);
            return knows_return(&now);
        }
        if (!run(&c, in->stack, &now)) {
            return false;
        }
        restored |= now.sp > in->regs->sp ||
                    (c.kind == HD_ARM_LOAD && c.count != 0 && (c.reg[0] == LR || c.reg[c.count - 1] == LR));
        now.pc += 4;
    }
    return false;
}

/* ---- from the start to pc ------------------------------------------------------------------- */

struct prologue {
    int64_t moved;    /* the stack pointer, from its value at the start */
    uint64_t changed; /* mask of registers with another value than at the start */
    uint64_t stored;  /* mask of registers whose value is in slot[] */
    int64_t slot[HD_ARM_SP];
    unsigned copy; /* the register that has the return address while x30 has not; LR: none */
    bool made;     /* x29 points to the frame record */
};

/* The ways through the function's start: the states at branches' targets. */
struct ways {
    uint64_t target[WAYS_MAX];
    struct prologue state[WAYS_MAX];
    unsigned count;
};

static void stores(struct prologue *p, const struct hd_arm_code *c) {
    int64_t at = p->moved + c->offset;
    p->moved += c->moved;
    for (unsigned i = 0; i < c->count && c->base == HD_ARM_SP; i++, at += 8) {
        if (c->reg[i] < HD_ARM_SP && ((p->changed | p->stored) >> c->reg[i] & 1) == 0) {
            p->stored |= UINT64_C(1) << c->reg[i];
            p->slot[c->reg[i]] = at;
        }
    }
}

static void changes(struct prologue *p, unsigned reg) {
    if (reg < HD_ARM_SP) {
        p->changed |= UINT64_C(1) << reg;
        if (reg == p->copy) {
            p->copy = LR;
        }
    }
}

/* Follows one instruction. False: the prologue's state behind it is not known. */
static bool follow(struct prologue *p, const struct hd_arm_code *c) {
    switch (c->kind) {
    case HD_ARM_STORE:
        stores(p, c);
        return true;
    case HD_ARM_LOAD:
        p->moved += c->moved;
        for (unsigned i = 0; i < c->count; i++) {
            changes(p, c->reg[i]);
        }
        return true;
    case HD_ARM_SET_SP:
        p->moved += c->offset;
        return c->base == HD_ARM_SP;
    case HD_ARM_SET_FP:
        p->made = true;
        changes(p, FP);
        return true;
    case HD_ARM_COPY:
        if (c->reg[0] == LR && c->reg[1] == p->copy) {
            p->changed &= ~(UINT64_C(1) << LR);
            return true;
        }
        changes(p, c->reg[0]);
        if (c->reg[1] == LR && (p->changed >> LR & 1) == 0) {
            p->copy = c->reg[0];
        }
        return true;
    case HD_ARM_PLAIN:
        changes(p, c->reg[0]);
        changes(p, c->reg[1]);
        return true;
    case HD_ARM_BRANCH: /* its other way is a part of the same function, with the same state */
        return true;
    default:
        return false;
    }
}

/* Follows a call of code that the compiler moved out of prologues: it returns by a straight way. */
static bool follow_outlined(struct hd_arm_window *window, uint64_t at, struct prologue *p) {
    for (unsigned i = 0; i < RUN_MAX / 2; i++, at += 4) {
        struct hd_arm_code c;
        if (!hd_arm_read(window, at, &c)) {
            return false;
        }
        if (c.kind == HD_ARM_RETURN) {
            return true;
        }
        if (c.kind == HD_ARM_BRANCH || !follow(p, &c)) {
            return false;
        }
    }
    return false;
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

/* Follows one instruction, and the code of a call that the compiler moved out of the prologue. False: the
 * state behind it is not known, or only the table knows it. */
static bool follow_any(struct hd_arm_window *outlined, struct prologue *p, const struct hd_arm_code *c) {
    if (c->kind == HD_ARM_CALL && p->copy != LR) {
        p->changed |= UINT64_C(1) << LR;
        return follow_outlined(outlined, c->target, p);
    }
    return !(p->made && c->kind == HD_ARM_BRANCH) && follow(p, c);
}

/* Follows the code from the start to pc. True: *p is the state at pc. */
static bool follow_to_pc(const struct hd_innermost *in, struct prologue *p) {
    struct hd_arm_window window = {.memory = in->memory};
    struct hd_arm_window outlined = {.memory = in->memory};
    struct ways ways = {.count = 0};
    *p = (struct prologue){.copy = LR};
    uint64_t at = in->start, pc = in->regs->pc;
    if (in->start == 0 || pc - in->start > 4 * PROLOGUE_MAX) {
        return false;
    }
    while (at < pc) {
        struct hd_arm_code c;
        if (!hd_arm_read(&window, at, &c)) {
            return false;
        }
        at += 4;
        if (!p->made && (c.kind == HD_ARM_BRANCH || c.kind == HD_ARM_JUMP)) {
            add_way(&ways, c.target, p);
        }
        if (!follow_any(&outlined, p, &c) && !take_way(&ways, &at, pc, p)) {
            return false;
        }
    }
    return at == pc;
}

/* Makes the caller's registers of a prologue's state. False: the return address is lost. */
static bool caller_of(const struct hd_innermost *in, const struct prologue *p, struct hd_regs *next) {
    struct hd_regs now = *in->regs;
    now.sp -= (uint64_t)p->moved;
    if ((p->changed >> LR & 1) != 0 && p->copy != LR) {
        now.r[LR] = now.r[p->copy];
    }
    for (unsigned reg = 19; reg <= LR; reg++) {
        if ((p->changed >> reg & 1) == 0 || (reg == LR && p->copy != LR)) {
            continue;
        }
        if ((p->stored >> reg & 1) == 0 ||
            !hd_stack_read(in->stack, now.sp + (uint64_t)p->slot[reg], &now.r[reg], 8)) {
            now.valid &= ~(UINT64_C(1) << reg);
        }
    }
    if ((now.valid >> LR & 1) == 0) {
        return false;
    }
    set_caller(&now, next);
    return true;
}

/* ---- by values ------------------------------------------------------------------------------ */

/* True if the function has no frame now, so that x30 has its return address. */
static bool is_frameless_now(const struct hd_innermost *in) {
    uint64_t ra = strip(in->regs->r[LR]), record[2], target;
    if (lies_in(in, ra) || in->stop == 0) { /* a call of this function may have stored x30 */
        return false;
    }
    if (hd_stack_read(in->stack, strip(in->regs->r[FP]), record, sizeof record) && strip(record[1]) == ra) {
        return false;
    }
    return in->follows_call(in->ctx, ra, &target);
}

int hd_innermost_aarch64(const struct hd_innermost *in, struct hd_regs *next) {
    struct prologue p;
    if ((in->regs->valid >> LR & 1) == 0) {
        return HD_INNERMOST_RULE;
    }
    if (in->stub || in->regs->pc == in->start) {
        set_caller(in->regs, next);
        return HD_INNERMOST_CALLER;
    }
    if (run_to_end(in, next)) {
        return HD_INNERMOST_CALLER;
    }
    if (follow_to_pc(in, &p)) { /* also with an FDE: its rows are for the end of a prologue */
        return caller_of(in, &p, next) ? HD_INNERMOST_CALLER : HD_INNERMOST_RULE;
    }
    if ((in->kind == HD_COMPACT_FRAME || in->kind == HD_COMPACT_NULL) && is_frameless_now(in)) {
        set_caller(in->regs, next);
        return HD_INNERMOST_CALLER;
    }
    return HD_INNERMOST_RULE;
}

bool hd_innermost_is_outlined_aarch64(const struct hd_innermost *in) {
    struct prologue p;
    return follow_to_pc(in, &p) && p.copy != LR && (p.changed >> LR & 1) != 0;
}
