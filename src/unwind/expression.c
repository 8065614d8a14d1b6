/* SPDX-License-Identifier: MIT
 *
 * The stack machine of DWARF expressions. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/expression.h"

#include <errno.h>

#include "base/reader.h"
#include "unwind/arch/arch.h"

enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST8S = 0x0f,
    OP_CONSTU,
    OP_CONSTS,
    OP_DUP,
    OP_DROP,
    OP_OVER,
    OP_PICK,
    OP_SWAP,
    OP_ROT,
    OP_ABS = 0x19,
    OP_AND,
    OP_DIV,
    OP_MINUS,
    OP_MOD,
    OP_MUL,
    OP_NEG,
    OP_NOT,
    OP_OR,
    OP_PLUS,
    OP_PLUS_UCONST,
    OP_SHL,
    OP_SHR,
    OP_SHRA,
    OP_XOR,
    OP_BRA,
    OP_EQ,
    OP_GE,
    OP_GT,
    OP_LE,
    OP_LT,
    OP_NE,
    OP_SKIP,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

struct machine {
    struct hd_reader r;
    const struct hd_regs *regs;
    const struct hd_stack *stack;
    uint64_t code;
    uint32_t missing;
    uint32_t depth;
    int error;
    uint64_t slot[HD_EXPRESSION_STACK];
};

static void fail(struct machine *m, int error) {
    if (m->error == 0) {
        m->error = error;
    }
}

static void push(struct machine *m, uint64_t v) {
    if (m->depth == HD_EXPRESSION_STACK) {
        fail(m, -EINVAL);
    } else {
        m->slot[m->depth++] = v;
    }
}

static uint64_t pop(struct machine *m) {
    if (m->depth == 0) {
        fail(m, -EINVAL);
        return 0;
    }
    return m->slot[--m->depth];
}

static uint64_t pick(struct machine *m, uint32_t n) {
    if (n >= m->depth) {
        fail(m, -EINVAL);
        return 0;
    }
    return m->slot[m->depth - 1 - n];
}

static void push_register(struct machine *m, uint64_t reg, int64_t offset) {
    uint64_t v;
    if (reg == HD_ARCH_SP) {
        v = m->regs->sp;
    } else if (reg == HD_ARCH_PC) {
        v = m->regs->pc;
    } else if (reg < HD_REGS_MAX && (m->regs->valid >> reg & 1) != 0) {
        v = m->regs->r[reg];
    } else {
        if (m->error == 0) {
            m->missing = reg < HD_REGS_MAX ? (uint32_t)reg : HD_REGS_MAX;
        }
        fail(m, -ENODATA);
        return;
    }
    push(m, v + (uint64_t)offset);
}

static void deref(struct machine *m, unsigned size) {
    uint64_t v = 0, address = pop(m);
    if (size == 0 || size > 8) {
        fail(m, -EINVAL);
    } else if (m->error == 0 && !hd_stack_read(m->stack, address, &v, size)) {
        fail(m, -EFAULT);
    }
    push(m, v);
}

/* Reads a constant. Forms 0 to 7: 1, 2, 4 and 8 bytes, each first unsigned, then signed. */
static uint64_t fixed_constant(struct hd_reader *r, unsigned form) {
    unsigned bytes = 1u << form / 2, unused = 64 - 8 * bytes;
    uint64_t v = hd_reader_bytes(r, bytes);
    return form % 2 != 0 ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
}

/* Runs an operation that pushes a constant. False: `op` is another one. */
static bool constant(struct machine *m, uint8_t op) {
    struct hd_reader *r = &m->r;
    if (op >= OP_LIT0 && op <= OP_LIT31) {
        push(m, op - OP_LIT0);
    } else if (op >= OP_CONST1U && op <= OP_CONST8S) {
        push(m, fixed_constant(r, op - OP_CONST1U));
    } else if (op == OP_ADDR) {
        push(m, hd_reader_u64(r));
    } else if (op == OP_CONSTU) {
        push(m, hd_reader_uleb(r));
    } else if (op == OP_CONSTS) {
        push(m, (uint64_t)hd_reader_sleb(r));
    } else {
        return false;
    }
    return true;
}

static void rotate(struct machine *m) {
    uint64_t a = pop(m), b = pop(m), c = pop(m);
    push(m, a);
    push(m, c);
    push(m, b);
}

/* Runs an operation that moves or changes the top of the stack. False: `op` is another one. */
static bool unary(struct machine *m, uint8_t op) {
    struct hd_reader *r = &m->r;
    uint64_t a, b;
    switch (op) {
    case OP_DUP:
        push(m, pick(m, 0));
        return true;
    case OP_DROP:
        (void)pop(m);
        return true;
    case OP_OVER:
        push(m, pick(m, 1));
        return true;
    case OP_PICK:
        push(m, pick(m, hd_reader_u8(r)));
        return true;
    case OP_SWAP:
        a = pop(m);
        b = pop(m);
        push(m, a);
        push(m, b);
        return true;
    case OP_ROT:
        rotate(m);
        return true;
    case OP_ABS:
        a = pop(m);
        push(m, (int64_t)a < 0 ? -a : a);
        return true;
    case OP_NEG:
        push(m, -pop(m));
        return true;
    case OP_NOT:
        push(m, ~pop(m));
        return true;
    case OP_PLUS_UCONST:
        a = pop(m);
        push(m, a + hd_reader_uleb(r));
        return true;
    case OP_DEREF:
        deref(m, 8);
        return true;
    case OP_DEREF_SIZE:
        deref(m, hd_reader_u8(r));
        return true;
    case OP_NOP:
        return true;
    default:
        return false;
    }
}

/* Pops a, then b, and pushes `b op a`. Comparisons and division are signed, as DWARF says. False: `op` is
 * another operation. */
static bool binary(struct machine *m, uint8_t op) {
    if (!((op >= OP_AND && op <= OP_XOR && op != OP_NEG && op != OP_NOT && op != OP_PLUS_UCONST) ||
          (op >= OP_EQ && op <= OP_NE))) {
        return false;
    }
    uint64_t a = pop(m), b = pop(m), v = 0;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (op) {
    case OP_AND:
        v = b & a;
        break;
    case OP_OR:
        v = b | a;
        break;
    case OP_XOR:
        v = b ^ a;
        break;
    case OP_PLUS:
        v = b + a;
        break;
    case OP_MINUS:
        v = b - a;
        break;
    case OP_MUL:
        v = b * a;
        break;
    case OP_DIV:
        if (a == 0) {
            fail(m, -EINVAL);
        } else {
            v = sa == -1 ? -b : (uint64_t)(sb / sa);
        }
        break;
    case OP_MOD: /* unsigned, as gcc and gdb do it */
        if (a == 0) {
            fail(m, -EINVAL);
        } else {
            v = b % a;
        }
        break;
    case OP_SHL:
        v = a < 64 ? b << a : 0;
        break;
    case OP_SHR:
        v = a < 64 ? b >> a : 0;
        break;
    case OP_SHRA:
        v = (uint64_t)(sb >> (a < 63 ? a : 63));
        break;
    case OP_EQ:
        v = b == a;
        break;
    case OP_NE:
        v = b != a;
        break;
    case OP_GE:
        v = sb >= sa;
        break;
    case OP_GT:
        v = sb > sa;
        break;
    case OP_LE:
        v = sb <= sa;
        break;
    case OP_LT:
        v = sb < sa;
        break;
    default:
        break;
    }
    push(m, v);
    return true;
}

/* Jumps within the expression; another target is an error. HD_EXPRESSION_STEPS ends an endless loop. */
static void jump(struct machine *m, bool conditional) {
    int16_t distance = (int16_t)hd_reader_u16(&m->r);
    if (conditional && pop(m) == 0) {
        return;
    }
    uint64_t to = m->r.at + (uint64_t)(int64_t)distance;
    if (to < m->code || to > m->r.end) {
        fail(m, -EINVAL);
    } else {
        hd_reader_seek(&m->r, to);
    }
}

static void operation(struct machine *m, uint8_t op) {
    struct hd_reader *r = &m->r;
    if (op >= OP_BREG0 && op <= OP_BREG31) {
        push_register(m, op - OP_BREG0, hd_reader_sleb(r));
    } else if (op == OP_BREGX) {
        uint64_t reg = hd_reader_uleb(r);
        push_register(m, reg, hd_reader_sleb(r));
    } else if (op == OP_BRA || op == OP_SKIP) {
        jump(m, op == OP_BRA);
    } else if (!constant(m, op) && !unary(m, op) && !binary(m, op)) {
        fail(m, -EINVAL); /* such as DW_OP_call_frame_cfa, which call frame information may not use */
    }
}

int hd_expression(const struct hd_memory *memory, uint64_t code, uint32_t bytes, const struct hd_regs *regs,
                  const struct hd_stack *stack, const uint64_t *first, uint64_t *value, uint32_t *missing) {
    struct machine m;
    if (bytes > UINT64_MAX - code) {
        return -EINVAL;
    }
    hd_reader_init(&m.r, memory, code, code + bytes);
    m.regs = regs;
    m.stack = stack;
    m.code = code;
    m.missing = HD_REGS_MAX;
    m.depth = 0;
    m.error = 0;
    if (first != NULL) {
        push(&m, *first);
    }
    for (unsigned steps = 0; m.r.at < m.r.end; steps++) {
        if (steps == HD_EXPRESSION_STEPS) {
            return -EINVAL;
        }
        operation(&m, hd_reader_u8(&m.r));
        if (m.r.bad) {
            return -EINVAL;
        }
        if (m.error != 0) {
            *missing = m.missing;
            return m.error;
        }
    }
    uint64_t v = pop(&m);
    if (m.error != 0) {
        return m.error;
    }
    *value = v;
    return 0;
}
