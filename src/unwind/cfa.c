/* SPDX-License-Identifier: MIT
 *
 * The interpreter of call frame instructions. On the worker thread, also during a hang, so without
 * allocation.
 */
#include "unwind/cfa.h"

#include <errno.h>
#include <string.h>

#include "base/reader.h"

enum {
    OP_NOP = 0x00,
    OP_SET_LOC = 0x01,
    OP_ADVANCE_LOC1 = 0x02,
    OP_ADVANCE_LOC2 = 0x03,
    OP_ADVANCE_LOC4 = 0x04,
    OP_OFFSET_EXTENDED = 0x05,
    OP_RESTORE_EXTENDED = 0x06,
    OP_UNDEFINED = 0x07,
    OP_SAME_VALUE = 0x08,
    OP_REGISTER = 0x09,
    OP_REMEMBER_STATE = 0x0a,
    OP_RESTORE_STATE = 0x0b,
    OP_DEF_CFA = 0x0c,
    OP_DEF_CFA_REGISTER = 0x0d,
    OP_DEF_CFA_OFFSET = 0x0e,
    OP_DEF_CFA_EXPRESSION = 0x0f,
    OP_EXPRESSION = 0x10,
    OP_OFFSET_EXTENDED_SF = 0x11,
    OP_DEF_CFA_SF = 0x12,
    OP_DEF_CFA_OFFSET_SF = 0x13,
    OP_VAL_OFFSET = 0x14,
    OP_VAL_OFFSET_SF = 0x15,
    OP_VAL_EXPRESSION = 0x16,
    OP_MIPS_ADVANCE_LOC8 = 0x1d,
    OP_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
    OP_AARCH64_NEGATE_RA_STATE = 0x2d, /* SPARC: GNU_window_save */
    OP_GNU_ARGS_SIZE = 0x2e,
    OP_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    OP_ADVANCE_LOC = 0x40, /* from here on: high two bits; the low six bits are the operand */
    OP_OFFSET = 0x80,
    OP_RESTORE = 0xc0,
};

struct machine {
    struct hd_reader r;
    const struct hd_fde *fde;
    struct hd_cfa_scratch *scratch;
    struct hd_row *row;
    bool initial;   /* the CIE's program runs: a restore is an error, for there is no initial row yet */
    unsigned depth; /* the number of remembered rows */
};

static void set(struct machine *m, uint64_t reg, enum hd_how how, int64_t value) {
    if (reg < HD_REGS_MAX) {
        m->row->reg[reg] = (struct hd_register_rule){.how = (uint8_t)how, .value = value};
    }
}

static int64_t factored(const struct machine *m, uint64_t n) {
    return (int64_t)(n * (uint64_t)m->fde->cie.data_align);
}

static void restore(struct machine *m, uint64_t reg) {
    if (m->initial) {
        m->r.bad = true;
    } else if (reg < HD_REGS_MAX) {
        m->row->reg[reg] = m->scratch->initial.reg[reg];
    }
}

static void def_cfa(struct machine *m, uint64_t reg, int64_t offset) {
    m->row->cfa_known = true;
    m->row->cfa_expression = false;
    m->row->cfa_register = reg > UINT32_MAX ? UINT32_MAX : (uint32_t)reg;
    m->row->cfa_offset = offset;
}

/* Steps over an expression without evaluating it. Returns its length in bytes; *at: its address. */
static uint32_t block(struct hd_reader *r, uint64_t *at) {
    uint64_t bytes = hd_reader_uleb(r);
    *at = r->at;
    hd_reader_skip(r, bytes);
    return r->bad ? 0 : (uint32_t)bytes;
}

static void set_expression(struct machine *m, enum hd_how how) {
    uint64_t at, reg = hd_reader_uleb(&m->r);
    uint32_t bytes = block(&m->r, &at);
    set(m, reg, how, (int64_t)at);
    if (reg < HD_REGS_MAX) {
        m->row->reg[reg].bytes = bytes;
    }
}

static void remember(struct machine *m) {
    if (m->depth == HD_REMEMBER_MAX) {
        m->r.bad = true;
    } else {
        m->scratch->remembered[m->depth++] = *m->row;
    }
}

/* Brings the remembered row back, with its CFA rule. The current address stays. */
static void recall(struct machine *m) {
    if (m->depth == 0) {
        m->r.bad = true;
        return;
    }
    uint64_t start = m->row->start;
    *m->row = m->scratch->remembered[--m->depth];
    m->row->start = start;
}

/* Runs an instruction that sets the rule of a register. False: `op` is another instruction. */
static bool register_instruction(struct machine *m, uint8_t op) {
    struct hd_reader *r = &m->r;
    uint64_t reg;
    switch (op) {
    case OP_OFFSET_EXTENDED:
        reg = hd_reader_uleb(r);
        set(m, reg, HD_HOW_OFFSET, factored(m, hd_reader_uleb(r)));
        return true;
    case OP_OFFSET_EXTENDED_SF:
        reg = hd_reader_uleb(r);
        set(m, reg, HD_HOW_OFFSET, factored(m, (uint64_t)hd_reader_sleb(r)));
        return true;
    case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
        reg = hd_reader_uleb(r);
        set(m, reg, HD_HOW_OFFSET, factored(m, -hd_reader_uleb(r)));
        return true;
    case OP_VAL_OFFSET:
        reg = hd_reader_uleb(r);
        set(m, reg, HD_HOW_VAL_OFFSET, factored(m, hd_reader_uleb(r)));
        return true;
    case OP_VAL_OFFSET_SF:
        reg = hd_reader_uleb(r);
        set(m, reg, HD_HOW_VAL_OFFSET, factored(m, (uint64_t)hd_reader_sleb(r)));
        return true;
    case OP_RESTORE_EXTENDED:
        restore(m, hd_reader_uleb(r));
        return true;
    case OP_UNDEFINED:
        set(m, hd_reader_uleb(r), HD_HOW_UNDEFINED, 0);
        return true;
    case OP_SAME_VALUE:
        set(m, hd_reader_uleb(r), HD_HOW_SAME, 0);
        return true;
    case OP_REGISTER:
        reg = hd_reader_uleb(r);
        set(m, reg, HD_HOW_REGISTER, (int64_t)hd_reader_uleb(r));
        return true;
    case OP_EXPRESSION:
        set_expression(m, HD_HOW_EXPRESSION);
        return true;
    case OP_VAL_EXPRESSION:
        set_expression(m, HD_HOW_VAL_EXPRESSION);
        return true;
    default:
        return false;
    }
}

/* Runs each other instruction: on the CFA, on remembered rows. DWARF forbids a new register or offset while
 * the CFA is an expression. Hand-written assembly (libgcrypt) does that; libgcc then takes the last offset,
 * and so does this function. */
static void other_instruction(struct machine *m, uint8_t op) {
    struct hd_reader *r = &m->r;
    uint64_t reg;
    switch (op) {
    case OP_DEF_CFA:
        reg = hd_reader_uleb(r);
        def_cfa(m, reg, (int64_t)hd_reader_uleb(r));
        break;
    case OP_DEF_CFA_SF:
        reg = hd_reader_uleb(r);
        def_cfa(m, reg, factored(m, (uint64_t)hd_reader_sleb(r)));
        break;
    case OP_DEF_CFA_REGISTER:
        r->bad |= !m->row->cfa_known;
        def_cfa(m, hd_reader_uleb(r), m->row->cfa_offset);
        break;
    case OP_DEF_CFA_OFFSET:
        r->bad |= !m->row->cfa_known;
        m->row->cfa_offset = (int64_t)hd_reader_uleb(r);
        break;
    case OP_DEF_CFA_OFFSET_SF:
        r->bad |= !m->row->cfa_known;
        m->row->cfa_offset = factored(m, (uint64_t)hd_reader_sleb(r));
        break;
    case OP_DEF_CFA_EXPRESSION:
        m->row->cfa_bytes = block(r, &m->row->cfa_code);
        m->row->cfa_known = true;
        m->row->cfa_expression = true;
        break;
    case OP_REMEMBER_STATE:
        remember(m);
        break;
    case OP_RESTORE_STATE:
        recall(m);
        break;
    case OP_AARCH64_NEGATE_RA_STATE:
    case OP_AARCH64_NEGATE_RA_STATE_WITH_PC:
        m->row->return_signed = !m->row->return_signed;
        break;
    case OP_GNU_ARGS_SIZE: /* only landing pads need its operand */
        (void)hd_reader_uleb(r);
        break;
    case OP_NOP:
        break;
    default: /* an unknown instruction: its operands' length is not known */
        r->bad = true;
    }
}

/* Reads an instruction that advances the address. *to: the new address. False: `op` is another instruction.
 */
static bool advance(struct machine *m, uint8_t op, uint64_t *to) {
    struct hd_reader *r = &m->r;
    const struct hd_pe_bases bases = {.func = m->fde->start};
    uint64_t delta;
    if ((op & 0xc0) == OP_ADVANCE_LOC) {
        delta = op & 0x3f;
    } else if (op == OP_ADVANCE_LOC1) {
        delta = hd_reader_u8(r);
    } else if (op == OP_ADVANCE_LOC2) {
        delta = hd_reader_u16(r);
    } else if (op == OP_ADVANCE_LOC4) {
        delta = hd_reader_u32(r);
    } else if (op == OP_MIPS_ADVANCE_LOC8) {
        delta = hd_reader_u64(r);
    } else if (op == OP_SET_LOC) {
        *to = hd_reader_pointer(r, m->fde->cie.fde_encoding, &bases);
        r->bad |= *to < m->row->start;
        return true;
    } else {
        return false;
    }
    *to = m->row->start + delta * m->fde->cie.code_align;
    r->bad |= *to < m->row->start;
    return true;
}

/* Runs the program until the row covers pc, or to the program's end. Returns 0, or -EINVAL: malformed. */
static int run(struct machine *m, uint64_t pc) {
    struct hd_reader *r = &m->r;
    while (!r->bad && r->at < r->end) {
        uint8_t op = hd_reader_u8(r);
        uint64_t to;
        if (advance(m, op, &to)) {
            if (!r->bad && to > pc) {
                m->row->stop = to;
                return 0;
            }
            m->row->start = to;
        } else if ((op & 0xc0) == OP_OFFSET) {
            set(m, op & 0x3f, HD_HOW_OFFSET, factored(m, hd_reader_uleb(r)));
        } else if ((op & 0xc0) == OP_RESTORE) {
            restore(m, op & 0x3f);
        } else if (!register_instruction(m, op)) {
            other_instruction(m, op);
        }
    }
    m->row->stop = m->fde->stop;
    return r->bad ? -EINVAL : 0;
}

int hd_cfa_row(const struct hd_memory *memory, const struct hd_fde *fde, uint64_t pc,
               struct hd_cfa_scratch *scratch, struct hd_row *out) {
    struct machine m = {.fde = fde, .scratch = scratch, .row = out, .initial = true};
    memset(out, 0, sizeof *out);
    out->start = fde->start;
    out->signal_frame = fde->cie.signal_frame;
    out->return_column = fde->cie.return_column;
    hd_reader_init(&m.r, memory, fde->cie.program, fde->cie.end);
    int rc = run(&m, UINT64_MAX);
    if (rc != 0 || out->start != fde->start) {
        return -EINVAL;
    }
    scratch->initial = *out;
    m.initial = false;
    m.depth = 0;
    hd_reader_init(&m.r, memory, fde->program, fde->end);
    rc = run(&m, pc);
    if (rc == 0 && out->stop > fde->stop) {
        out->stop = fde->stop;
    }
    return rc;
}
