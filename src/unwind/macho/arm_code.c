/* SPDX-License-Identifier: MIT
 *
 * Decodes instructions of arm64 (Arm Architecture Reference Manual, C4). An instruction that may change more
 * than this file knows is HD_ARM_UNKNOWN. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/macho/arm_code.h"

#define FP 29u

static int64_t sign_extend(uint64_t value, unsigned bits) {
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static uint32_t rd(uint32_t word) {
    return word & 31;
}

static uint32_t rn(uint32_t word) {
    return word >> 5 & 31;
}

/* ---- branches and hints ---------------------------------------------------------------------- */

static bool is_hint(uint32_t word) {
    return (word & 0xfffff01f) == 0xd503201f;
}

static void decode_branch(uint32_t word, uint64_t pc, struct hd_arm_code *c) {
    if ((word & 0x7c000000) == 0x14000000) { /* b, bl */
        c->kind = word >> 31 != 0 ? HD_ARM_CALL : HD_ARM_JUMP;
        c->target = pc + (uint64_t)(sign_extend(word & 0x3ffffff, 26) * 4);
    } else if ((word & 0xff000000) == 0x54000000 || (word & 0x7c000000) == 0x34000000) {
        bool tests_bit = (word & 0x7e000000) == 0x36000000; /* else: b.cond, cbz, cbnz */
        c->kind = HD_ARM_BRANCH;
        c->target = pc + (uint64_t)(tests_bit ? sign_extend(word >> 5 & 0x3fff, 14) * 4
                                              : sign_extend(word >> 5 & 0x7ffff, 19) * 4);
    } else if (word == 0xd65f03c0 || (word & 0xfffffbff) == 0xd65f0bff) {
        c->kind = HD_ARM_RETURN; /* ret, retaa, retab */
    } else if ((word & 0xfefff000) == 0xd63f0000) {
        c->kind = HD_ARM_CALL; /* blr and its authenticating forms */
    } else if ((word & 0xfefff000) == 0xd61f0000) {
        c->kind = HD_ARM_JUMP_REGISTER; /* br */
    } else if (is_hint(word)) {
        c->kind = HD_ARM_PLAIN; /* nop, bti; paciasp and autiasp change bits that are stripped */
    } else if ((word & 0xfff00000) == 0xd5300000 || (word & 0xfffff000) == 0xd5033000) {
        c->kind = HD_ARM_PLAIN; /* mrs; barriers */
        c->reg[0] = (uint8_t)rd(word);
    }
}

/* ---- loads and stores ------------------------------------------------------------------------ */

static bool is_base(uint32_t reg) {
    return reg == HD_ARM_SP || reg == FP;
}

/* stp, ldp of any register. */
static void decode_pair(uint32_t word, struct hd_arm_code *c) {
    unsigned mode = word >> 23 & 3, size = word >> 30; /* mode 1: post-index, 3: pre-index */
    bool is_load = (word >> 22 & 1) != 0, is_float = (word >> 26 & 1) != 0;
    int64_t bytes = is_float ? INT64_C(4) << size : size == 2 ? 8 : 4;
    int64_t offset = sign_extend(word >> 15 & 0x7f, 7) * bytes;
    bool moves = mode == 1 || mode == 3;
    c->kind = is_load ? HD_ARM_LOAD : HD_ARM_STORE;
    c->base = (uint8_t)rn(word);
    c->count = is_float ? 0 : 2;
    c->reg[0] = (uint8_t)rd(word);
    c->reg[1] = (uint8_t)(word >> 10 & 31);
    c->moved = moves ? offset : 0;
    c->offset = mode == 1 ? 0 : offset;
    bool wide = is_float || size == 2;
    if (size == 3 || (moves && c->base != HD_ARM_SP) || (!wide && (is_load || moves))) {
        c->kind = HD_ARM_UNKNOWN;
    } else if (!is_base(c->base) || !wide) {
        c->kind = HD_ARM_PLAIN;
        if (!is_load || is_float) { /* elsewhere, or no register of interest */
            c->reg[0] = c->reg[1] = HD_ARM_SP;
        }
    }
}

/* str and ldr of one register, with an immediate offset. */
static void decode_single(uint32_t word, struct hd_arm_code *c) {
    unsigned size = word >> 30, opc = word >> 22 & 3, mode = word >> 10 & 3;
    bool is_float = (word >> 26 & 1) != 0, scaled = (word >> 24 & 1) != 0;
    bool is_load = is_float ? (opc & 1) != 0 : opc != 0;
    unsigned scale = is_float && (opc & 2) != 0 ? 4 : size;
    bool is_indexed = !scaled && (word >> 21 & 1) == 0 && (mode == 1 || mode == 3);
    int64_t offset = scaled ? (int64_t)(word >> 10 & 0xfff) << scale : sign_extend(word >> 12 & 0x1ff, 9);
    c->base = (uint8_t)rn(word);
    c->reg[0] = (uint8_t)rd(word);
    c->count = is_float || size != 3 ? 0 : 1;
    if (!scaled && (word >> 21 & 1) != 0 && mode == 0) {
        c->kind = HD_ARM_PLAIN; /* an atomic access: it may load reg[0] */
        return;
    }
    if (!is_float && size == 3 && opc == 2) {
        c->kind = HD_ARM_PLAIN; /* prfm */
        c->reg[0] = HD_ARM_SP;
        return;
    }
    if (is_indexed && c->base != HD_ARM_SP) {
        c->kind = c->base != FP ? HD_ARM_PLAIN : HD_ARM_UNKNOWN;
        c->reg[0] = is_load && !is_float ? c->reg[0] : HD_ARM_SP;
        c->reg[1] = c->base;
        return;
    }
    bool has_offset = scaled || (word >> 21 & 1) == 0;
    if (has_offset && is_base(c->base) && (is_indexed || c->count == 1)) {
        c->kind = is_load ? HD_ARM_LOAD : HD_ARM_STORE;
        c->moved = is_indexed ? offset : 0;
        c->offset = is_indexed && mode == 1 ? 0 : offset;
        if (c->count == 0 && is_load && !is_float) {
            c->kind = HD_ARM_UNKNOWN;
        }
        return;
    }
    c->kind = HD_ARM_PLAIN;
    if (!is_load || is_float) {
        c->reg[0] = HD_ARM_SP;
    }
}

static void decode_memory(uint32_t word, struct hd_arm_code *c) {
    if ((word & 0x3a000000) == 0x28000000) {
        decode_pair(word, c);
    } else if ((word & 0x3a000000) == 0x38000000) {
        decode_single(word, c);
    } else if ((word & 0x3b000000) == 0x18000000) { /* a literal */
        c->kind = HD_ARM_PLAIN;
        c->reg[0] = (word >> 26 & 1) != 0 ? HD_ARM_SP : (uint8_t)rd(word);
    } else if ((word & 0x3f000000) == 0x08000000) { /* exclusive and ordered accesses */
        c->kind = HD_ARM_PLAIN;
        c->reg[0] = (uint8_t)rd(word);
        c->reg[1] = (uint8_t)(word >> 16 & 31);
    } else if ((word & 0xbe000000) == 0x0c000000) { /* vectors; bit 23: the base moves */
        bool moves = (word >> 23 & 1) != 0;
        c->kind = moves && is_base(rn(word)) ? HD_ARM_UNKNOWN : HD_ARM_PLAIN;
        c->reg[0] = moves ? (uint8_t)rn(word) : HD_ARM_SP;
    }
}

/* ---- computations ---------------------------------------------------------------------------- */

static void decode_immediate(uint32_t word, struct hd_arm_code *c) {
    c->kind = HD_ARM_PLAIN;
    c->reg[0] = (uint8_t)rd(word);
    if (word == 0xb24403bd || word == 0x9243fbbd) { /* Swift's mark in x29 is set or cleared */
        c->reg[0] = HD_ARM_SP;
        return;
    }
    if ((word & 0x1f800000) != 0x11000000) { /* logical immediates may write the stack pointer */
        bool is_logical = (word & 0x1f800000) == 0x12000000 && (word >> 29 & 3) != 3;
        if ((is_logical && rd(word) == HD_ARM_SP) || rd(word) == FP) {
            c->kind = HD_ARM_UNKNOWN;
        }
        return;
    }
    bool sets_flags = (word >> 29 & 1) != 0;
    int64_t offset = (int64_t)(word >> 10 & 0xfff) << ((word >> 22 & 1) != 0 ? 12 : 0);
    if ((word >> 30 & 1) != 0) {
        offset = -offset;
    }
    c->base = (uint8_t)rn(word);
    c->offset = offset;
    if (rd(word) == HD_ARM_SP && !sets_flags) {
        c->kind = is_base(c->base) && word >> 31 != 0 ? HD_ARM_SET_SP : HD_ARM_UNKNOWN;
    } else if (rd(word) == FP) {
        c->kind = c->base == HD_ARM_SP && word >> 31 != 0 ? HD_ARM_SET_FP : HD_ARM_UNKNOWN;
    }
}

static void decode_register(uint32_t word, struct hd_arm_code *c) {
    c->reg[0] = (uint8_t)rd(word);
    c->kind = HD_ARM_PLAIN;
    if ((word & 0xffe0ffe0) == 0xaa0003e0 && rd(word) < HD_ARM_SP && (word >> 16 & 31) < HD_ARM_SP) {
        c->kind = HD_ARM_COPY; /* mov */
        c->reg[1] = (uint8_t)(word >> 16 & 31);
        return;
    }
    bool is_extended = (word & 0x1f200000) == 0x0b200000; /* add, sub: register 31 is the stack pointer */
    if ((is_extended && rd(word) == HD_ARM_SP && (word >> 29 & 1) == 0) || rd(word) == FP) {
        c->kind = HD_ARM_UNKNOWN;
    }
}

static void decode_float(uint32_t word, struct hd_arm_code *c) {
    unsigned operation = word >> 16 & 7; /* 2, 3 and 7 convert into a float register */
    bool converts = (word & 0x5f20fc00) == 0x1e200000 && operation != 2 && operation != 3 && operation != 7;
    bool moves = (word & 0x9fe0fc00) == 0x0e003c00 || (word & 0x9fe0fc00) == 0x0e002c00; /* umov, smov */
    c->kind = HD_ARM_PLAIN;
    c->reg[0] = converts || moves ? (uint8_t)rd(word) : HD_ARM_SP;
}

void hd_arm_decode(uint32_t word, uint64_t pc, struct hd_arm_code *out) {
    *out = (struct hd_arm_code){.kind = HD_ARM_UNKNOWN, .reg = {HD_ARM_SP, HD_ARM_SP}};
    switch (word >> 25 & 0xf) {
    case 0x8:
    case 0x9:
        decode_immediate(word, out);
        break;
    case 0xa:
    case 0xb:
        decode_branch(word, pc, out);
        break;
    case 0x4:
    case 0x6:
    case 0xc:
    case 0xe:
        decode_memory(word, out);
        break;
    case 0x5:
    case 0xd:
        decode_register(word, out);
        break;
    case 0x7:
    case 0xf:
        decode_float(word, out);
        break;
    default:
        break;
    }
    if (out->kind == HD_ARM_PLAIN && (out->reg[0] == FP || out->reg[1] == FP)) {
        out->kind = HD_ARM_UNKNOWN;
    }
}

bool hd_arm_read(struct hd_arm_window *w, uint64_t pc, struct hd_arm_code *out) {
    uint64_t i = (pc - w->at) / 4;
    if (pc % 4 != 0) {
        return false;
    }
    if (pc < w->at || i >= w->count) {
        w->at = pc;
        i = 0;
        for (w->count = HD_ARM_WINDOW; !hd_memory_read(w->memory, pc, w->word, 4 * (size_t)w->count);) {
            if ((w->count /= 2) == 0) { /* the page may end earlier */
                return false;
            }
        }
    }
    hd_arm_decode(w->word[i], pc, out);
    return true;
}
