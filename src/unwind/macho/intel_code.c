/* SPDX-License-Identifier: MIT
 *
 * Decodes the instructions of x86-64 that compilers write into prologues, epilogues and between them. Any
 * other instruction is HD_INTEL_UNKNOWN. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/macho/intel_code.h"

#include <string.h>

#define RBP 6u
#define RSP 7u
#define REX_W 8u

/* DWARF's numbers of the CPU's numbers. */
static const uint8_t dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* An instruction of the common form: prefixes, opcode, ModRM with its displacement, immediate. */
struct form {
    const uint8_t *code;
    unsigned at;           /* the next byte */
    unsigned rex;          /* 0: none */
    bool is_narrow;        /* prefix 66 */
    unsigned mod, reg, rm; /* of ModRM, with REX's bits; for mod 3 rm is a register */
    int32_t displacement;
    bool rm_is_plain_base; /* the operand is [register + displacement], without an index */
};

static int32_t read_i32(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Reads ModRM, SIB and the displacement. */
static void read_modrm(struct form *f) {
    unsigned modrm = f->code[f->at++], rm = modrm & 7;
    f->mod = modrm >> 6;
    f->reg = (modrm >> 3 & 7) | (f->rex & 4) << 1;
    f->rm = rm | (f->rex & 1) << 3;
    f->rm_is_plain_base = f->mod != 3 && rm != 4;
    f->displacement = 0;
    if (f->mod == 3) {
        return;
    }
    bool has_long = f->mod == 2 || (f->mod == 0 && rm == 5);
    if (f->mod == 0 && rm == 5) {
        f->rm_is_plain_base = false; /* relative to rip */
    }
    if (rm == 4) {
        unsigned sib = f->code[f->at++];
        f->rm = (sib & 7) | (f->rex & 1) << 3;
        f->rm_is_plain_base = (sib >> 3 & 7) == 4 && (f->rex & 2) == 0 && !((sib & 7) == 5 && f->mod == 0);
        has_long |= f->mod == 0 && (sib & 7) == 5;
    }
    if (has_long) {
        f->displacement = read_i32(f->code + f->at);
        f->at += 4;
    } else if (f->mod == 1) {
        f->displacement = (int8_t)f->code[f->at++];
    }
}

static void done(struct hd_intel_code *c, const struct form *f, enum hd_intel_kind kind) {
    c->kind = (uint8_t)kind;
    c->length = (uint8_t)f->at;
}

/* Ends an instruction that writes to general register `number`, the CPU's. */
static void writes(struct hd_intel_code *c, const struct form *f, unsigned number) {
    c->reg = dwarf[number & 15];
    done(c, f, c->reg == RSP || c->reg == RBP ? HD_INTEL_UNKNOWN : HD_INTEL_PLAIN);
}

/* Ends an instruction that writes to its ModRM operand. */
static void writes_rm(struct hd_intel_code *c, const struct form *f) {
    if (f->mod == 3) {
        writes(c, f, f->rm);
    } else {
        done(c, f, HD_INTEL_PLAIN);
    }
}

/* ---- moves of the stack pointer and the frame pointer ---------------------------------------- */

static bool is_register(const struct form *f, unsigned number, unsigned reg) {
    return (f->rex & REX_W) != 0 && dwarf[number & 15] == reg;
}

/* mov r/m,r and mov r,r/m: 88 to 8b */
static void decode_mov(struct hd_intel_code *c, struct form *f, unsigned opcode) {
    read_modrm(f);
    unsigned to = (opcode & 2) != 0 ? f->reg : f->rm, from = (opcode & 2) != 0 ? f->rm : f->reg;
    bool is_whole = (opcode & 1) != 0 && f->mod == 3;
    if (is_whole && is_register(f, to, RBP) && is_register(f, from, RSP)) {
        done(c, f, HD_INTEL_SET_FP);
    } else if (is_whole && is_register(f, to, RSP) && is_register(f, from, RBP)) {
        done(c, f, HD_INTEL_SP_BY_FP);
    } else if ((opcode & 2) != 0) {
        writes(c, f, f->reg);
    } else {
        writes_rm(c, f);
    }
}

static void decode_lea(struct hd_intel_code *c, struct form *f) {
    read_modrm(f);
    unsigned base = f->rm_is_plain_base ? dwarf[f->rm & 15] : HD_INTEL_NONE;
    c->value = f->displacement;
    if (is_register(f, f->reg, RSP) && base == RBP) {
        done(c, f, HD_INTEL_SP_BY_FP);
    } else if (is_register(f, f->reg, RSP) && base == RSP) {
        done(c, f, HD_INTEL_MOVE_SP);
    } else if (is_register(f, f->reg, RBP) && base == RSP) {
        done(c, f, HD_INTEL_SET_FP);
    } else {
        writes(c, f, f->reg);
    }
}

/* Arithmetic with an immediate: 80, 81, 83. */
static void decode_immediate(struct hd_intel_code *c, struct form *f, unsigned opcode) {
    read_modrm(f);
    int32_t value;
    if (opcode == 0x81) {
        value = f->is_narrow ? 0 : read_i32(f->code + f->at);
        f->at += f->is_narrow ? 2 : 4;
    } else {
        value = (int8_t)f->code[f->at++];
    }
    unsigned operation = f->reg & 7; /* 0 add, 5 sub, 7 cmp */
    if (f->mod == 3 && is_register(f, f->rm, RSP) && opcode != 0x80 && (operation == 0 || operation == 5)) {
        c->value = operation == 0 ? value : -(int64_t)value;
        done(c, f, HD_INTEL_MOVE_SP);
    } else if (operation == 7) {
        done(c, f, HD_INTEL_PLAIN);
    } else {
        writes_rm(c, f);
    }
}

/* ---- groups of opcodes ----------------------------------------------------------------------- */

/* Opcodes f6, f7, fe, ff. */
static void decode_group(struct hd_intel_code *c, struct form *f, unsigned opcode) {
    read_modrm(f);
    unsigned operation = f->reg & 7;
    if (opcode == 0xff && operation >= 2) {
        static const uint8_t kinds[] = {HD_INTEL_CALL,    HD_INTEL_UNKNOWN, HD_INTEL_JUMP_INDIRECT,
                                        HD_INTEL_UNKNOWN, HD_INTEL_PUSH,    HD_INTEL_UNKNOWN};
        done(c, f, (enum hd_intel_kind)kinds[operation - 2]);
        return;
    }
    if (opcode <= 0xf7 && operation <= 1) { /* test */
        f->at += opcode == 0xf6 ? 1 : f->is_narrow ? 2 : 4;
        done(c, f, HD_INTEL_PLAIN);
    } else if (opcode <= 0xf7 && operation >= 4) { /* mul, div: rax and rdx */
        done(c, f, HD_INTEL_PLAIN);
    } else {
        writes_rm(c, f);
    }
}

/* Opcodes behind 0f. */
static void decode_two(struct hd_intel_code *c, struct form *f, uint64_t pc) {
    unsigned opcode = f->code[f->at++];
    if (opcode == 0x1e && memcmp(f->code, "\xf3\x0f\x1e\xfa", 4) == 0) {
        f->at++;
        done(c, f, HD_INTEL_PLAIN); /* endbr64 */
        return;
    }
    if (opcode >= 0x80 && opcode <= 0x8f) {
        f->at += 4;
        c->target = pc + f->at + (uint64_t)(int64_t)read_i32(f->code + f->at - 4);
        done(c, f, HD_INTEL_BRANCH);
        return;
    }
    bool general = (opcode >= 0x40 && opcode <= 0x4f) || opcode == 0xaf ||
                   (opcode >= 0xb6 && opcode <= 0xb8) || (opcode >= 0xbc && opcode <= 0xbf) ||
                   opcode == 0x2c || opcode == 0x2d || opcode == 0x50 || opcode == 0xd7;
    bool vector = (opcode >= 0x10 && opcode <= 0x17) || opcode == 0x18 || opcode == 0x1f || opcode == 0x28 ||
                  opcode == 0x29 || opcode == 0x2a || opcode == 0x2e || opcode == 0x2f ||
                  (opcode >= 0x51 && opcode <= 0x6f) || (opcode >= 0x74 && opcode <= 0x76) ||
                  opcode == 0x7f || opcode == 0xd6 || opcode >= 0xd8;
    bool has_byte = opcode == 0x70 || opcode == 0xc2 || opcode == 0xc6;
    if (!general && !vector && !has_byte && opcode != 0x7e && (opcode & 0xf0) != 0x90) {
        return;
    }
    read_modrm(f);
    f->at += has_byte;
    if (general) {
        writes(c, f, f->reg);
    } else if (opcode == 0x7e || (opcode & 0xf0) == 0x90) { /* movd, setcc */
        writes_rm(c, f);
    } else {
        done(c, f, HD_INTEL_PLAIN);
    }
}

/* Opcodes with an operand in the opcode: push, pop, mov of an immediate. True: it was one of them. */
static bool decode_short(struct hd_intel_code *c, struct form *f, unsigned opcode) {
    unsigned number = (opcode & 7) | (f->rex & 1) << 3;
    if ((opcode & 0xf0) == 0x50) {
        c->reg = dwarf[number];
        done(c, f, opcode < 0x58 ? HD_INTEL_PUSH : HD_INTEL_POP);
    } else if (opcode >= 0xb8 && opcode <= 0xbf) {
        f->at += (f->rex & REX_W) != 0 ? 8 : f->is_narrow ? 2 : 4;
        writes(c, f, number);
    } else if (opcode >= 0xb0 && opcode <= 0xb7) {
        f->at++;
        writes(c, f, number);
    } else if (opcode == 0x68 || opcode == 0x6a) {
        f->at += opcode == 0x68 ? 4 : 1;
        done(c, f, HD_INTEL_PUSH);
        c->reg = HD_INTEL_NONE;
    } else {
        return false;
    }
    return true;
}

/* Calls, jumps and returns. True: it was one of them. */
static bool decode_flow(struct hd_intel_code *c, struct form *f, unsigned opcode, uint64_t pc) {
    if (opcode == 0xc3 || opcode == 0xc2) {
        f->at += opcode == 0xc2 ? 2 : 0;
        done(c, f, HD_INTEL_RETURN);
    } else if (opcode == 0xe8 || opcode == 0xe9) {
        f->at += 4;
        c->target = pc + f->at + (uint64_t)(int64_t)read_i32(f->code + f->at - 4);
        done(c, f, opcode == 0xe8 ? HD_INTEL_CALL : HD_INTEL_JUMP);
    } else if (opcode == 0xeb || (opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3)) {
        f->at += 1;
        c->target = pc + f->at + (uint64_t)(int64_t)(int8_t)f->code[f->at - 1];
        done(c, f, opcode == 0xeb ? HD_INTEL_JUMP : HD_INTEL_BRANCH);
    } else if (opcode == 0xc9) {
        done(c, f, HD_INTEL_LEAVE);
    } else {
        return false;
    }
    return true;
}

static void decode_one(struct hd_intel_code *c, struct form *f, unsigned opcode) {
    if (opcode < 0x40 && (opcode & 7) < 4) { /* add, or, adc, sbb, and, sub, xor, cmp */
        read_modrm(f);
        if (opcode >= 0x38) {
            done(c, f, HD_INTEL_PLAIN);
        } else if ((opcode & 2) != 0) {
            writes(c, f, f->reg);
        } else {
            writes_rm(c, f);
        }
    } else if (opcode < 0x40 && (opcode & 7) < 6) { /* the same with rax and an immediate */
        f->at += (opcode & 1) == 0 ? 1 : f->is_narrow ? 2 : 4;
        done(c, f, HD_INTEL_PLAIN);
    } else if (opcode == 0x63) { /* movsxd */
        read_modrm(f);
        writes(c, f, f->reg);
    } else if (opcode == 0x69 || opcode == 0x6b) { /* imul */
        read_modrm(f);
        f->at += opcode == 0x6b ? 1 : f->is_narrow ? 2 : 4;
        writes(c, f, f->reg);
    } else if (opcode >= 0x80 && opcode <= 0x83 && opcode != 0x82) {
        decode_immediate(c, f, opcode);
    } else if (opcode == 0x84 || opcode == 0x85) { /* test */
        read_modrm(f);
        done(c, f, HD_INTEL_PLAIN);
    } else if (opcode >= 0x88 && opcode <= 0x8b) {
        decode_mov(c, f, opcode);
    } else if (opcode == 0x8d) {
        decode_lea(c, f);
    } else if (opcode == 0x90 || opcode == 0x98 || opcode == 0x99 || opcode == 0xa8 || opcode == 0xa9) {
        f->at += opcode == 0xa8 ? 1 : opcode != 0xa9 ? 0 : f->is_narrow ? 2 : 4;
        done(c, f, HD_INTEL_PLAIN); /* nop, cdqe, cdq, test of rax */
    } else if (opcode == 0xc0 || opcode == 0xc1 || (opcode >= 0xd0 && opcode <= 0xd3)) { /* shifts */
        read_modrm(f);
        f->at += opcode < 0xd0;
        writes_rm(c, f);
    } else if (opcode == 0xc6 || opcode == 0xc7) { /* mov of an immediate */
        read_modrm(f);
        f->at += opcode == 0xc6 ? 1 : f->is_narrow ? 2 : 4;
        writes_rm(c, f);
    } else if (opcode == 0xf6 || opcode == 0xf7 || opcode >= 0xfe) {
        decode_group(c, f, opcode);
    }
}

void hd_intel_decode(const uint8_t *code, uint64_t pc, struct hd_intel_code *out) {
    struct form f = {.code = code};
    *out = (struct hd_intel_code){.kind = HD_INTEL_UNKNOWN, .reg = HD_INTEL_NONE};
    while (f.at < 4 && (code[f.at] == 0x66 || code[f.at] == 0xf2 || code[f.at] == 0xf3 ||
                        code[f.at] == 0x2e || code[f.at] == 0x65)) {
        f.is_narrow |= code[f.at++] == 0x66;
    }
    if ((code[f.at] & 0xf0) == 0x40) {
        f.rex = code[f.at++];
    }
    unsigned opcode = code[f.at++];
    if (opcode == 0x0f) {
        decode_two(out, &f, pc);
    } else if (opcode == 0xc5 && code[f.at] == 0xf8 && code[f.at + 1] == 0x77) {
        f.at += 2;
        done(out, &f, HD_INTEL_PLAIN); /* vzeroupper */
    } else if (!decode_flow(out, &f, opcode, pc) && !decode_short(out, &f, opcode)) {
        decode_one(out, &f, opcode);
    }
    if (out->length > HD_INTEL_BYTES_MAX) {
        out->kind = HD_INTEL_UNKNOWN;
    }
}

bool hd_intel_read(struct hd_intel_window *w, uint64_t pc, struct hd_intel_code *out) {
    uint64_t at = pc - w->at;
    if (pc < w->at || at >= w->count || (w->count == HD_INTEL_WINDOW && at > w->count - HD_INTEL_BYTES_MAX)) {
        w->at = pc;
        at = 0;
        for (w->count = HD_INTEL_WINDOW; !hd_memory_read(w->memory, pc, w->byte, w->count);) {
            if ((w->count /= 2) == 0) { /* the page may end earlier */
                return false;
            }
        }
        memset(w->byte + w->count, 0, sizeof w->byte - w->count);
    }
    hd_intel_decode(w->byte + at, pc, out);
    return at + out->length <= w->count;
}
