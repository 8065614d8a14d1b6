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

/* The byte as a signed number. */
static int32_t read_i8(uint8_t byte) {
    return byte < 0x80 ? byte : byte - 0x100;
}

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
        f->displacement = read_i8(f->code[f->at++]);
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
        value = read_i8(f->code[f->at++]);
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

/* Opcodes behind 0f 38 and 0f 3a: vectors, but for few. */
static void decode_three(struct hd_intel_code *c, struct form *f, unsigned map) {
    unsigned opcode = f->code[f->at++];
    read_modrm(f);
    f->at += map == 0x3a;
    if (map == 0x3a && opcode >= 0x14 && opcode <= 0x17) { /* pextr */
        writes_rm(c, f);
    } else if (map == 0x38 && opcode >= 0xf0) {
        writes(c, f, f->reg);
    } else {
        done(c, f, HD_INTEL_PLAIN);
    }
}

static bool is_in(const uint8_t *list, size_t count, unsigned opcode) {
    for (size_t i = 0; i + 1 < count; i += 2) {
        if (opcode >= list[i] && opcode <= list[i + 1]) {
            return true;
        }
    }
    return false;
}

/* Ranges of opcodes behind 0f, by their operands. */
static const uint8_t to_reg[] = {0x2c, 0x2d, 0x40, 0x50, 0xaf, 0xaf, 0xb6,
                                 0xb8, 0xbc, 0xbf, 0xc5, 0xc5, 0xd7, 0xd7};
static const uint8_t to_rm[] = {0x7e, 0x7e, 0x90, 0x9f, 0xa4, 0xa5, 0xab, 0xad,
                                0xb0, 0xb1, 0xb3, 0xb3, 0xba, 0xbb, 0xc0, 0xc1};
static const uint8_t vector[] = {0x0d, 0x0d, 0x10, 0x1d, 0x1f, 0x1f, 0x28, 0x2b, 0x2e,
                                 0x2f, 0x51, 0x76, 0x7c, 0x7d, 0x7f, 0x7f, 0xa3, 0xa3,
                                 0xc2, 0xc4, 0xc6, 0xc7, 0xd0, 0xd6, 0xd8, 0xff};
static const uint8_t with_byte[] = {0x70, 0x73, 0xa4, 0xa4, 0xac, 0xac, 0xba, 0xba, 0xc2, 0xc2, 0xc4, 0xc6};

/* An opcode of the second map, behind its prefix. */
static void decode_map(struct hd_intel_code *c, struct form *f, unsigned opcode) {
    bool general = is_in(to_reg, sizeof to_reg, opcode), rm = is_in(to_rm, sizeof to_rm, opcode);
    if (!general && !rm && !is_in(vector, sizeof vector, opcode)) {
        return;
    }
    read_modrm(f);
    bool marks = opcode == 0xba && f->mod == 3 && is_register(f, f->rm, RBP) && f->code[f->at] == 60;
    f->at += is_in(with_byte, sizeof with_byte, opcode);
    if (general) {
        writes(c, f, f->reg);
    } else if (rm && !marks) { /* Swift's mark in the frame pointer writes nothing else */
        writes_rm(c, f);
    } else {
        done(c, f, HD_INTEL_PLAIN);
    }
}

/* Opcodes behind 0f. */
static void decode_two(struct hd_intel_code *c, struct form *f, uint64_t pc) {
    unsigned opcode = f->code[f->at++];
    if (opcode == 0x1e && memcmp(f->code, "\xf3\x0f\x1e\xfa", 4) == 0) {
        f->at++;
        done(c, f, HD_INTEL_PLAIN); /* endbr64 */
    } else if (opcode >= 0x80 && opcode <= 0x8f) {
        f->at += 4;
        c->target = pc + f->at + (uint64_t)(int64_t)read_i32(f->code + f->at - 4);
        done(c, f, HD_INTEL_BRANCH);
    } else if (opcode == 0x38 || opcode == 0x3a) {
        decode_three(c, f, opcode);
    } else if (opcode >= 0xc8 && opcode <= 0xcf) { /* bswap */
        writes(c, f, (opcode & 7) | (f->rex & 1) << 3);
    } else {
        decode_map(c, f, opcode);
    }
}

/* Instructions with the prefixes c5 and c4. Their bits are those of REX, inverted. */
static void decode_vex(struct hd_intel_code *c, struct form *f, unsigned prefix) {
    unsigned first = f->code[f->at++], map = 1;
    f->rex = (~first >> 5) & 4;
    if (prefix == 0xc4) {
        map = first & 0x1f;
        f->rex = (~first >> 5) & 7;
        f->rex |= f->code[f->at++] >> 4 & REX_W;
    }
    if (map == 1 && f->code[f->at] == 0x77) { /* vzeroupper */
        f->at++;
        done(c, f, HD_INTEL_PLAIN);
    } else if (map == 1) {
        f->at++;
        decode_map(c, f, f->code[f->at - 1]);
    } else if (map == 3 || (map == 2 && f->code[f->at] != 0xf3 && f->code[f->at] != 0xf6)) {
        decode_three(c, f, map == 2 ? 0x38 : 0x3a); /* not bls and mulx: they write to one more register */
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
    } else if ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf)) {
        done(c, f, HD_INTEL_PLAIN); /* strings, by rcx, rsi and rdi */
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
    static const uint8_t prefixes[] = {0x2e, 0x2e, 0x65, 0x66, 0xf0, 0xf0, 0xf2, 0xf3};
    while (f.at < 8 && is_in(prefixes, sizeof prefixes, code[f.at])) {
        f.is_narrow |= code[f.at++] == 0x66;
    }
    if ((code[f.at] & 0xf0) == 0x40) {
        f.rex = code[f.at++];
    }
    unsigned opcode = code[f.at++];
    if (opcode == 0x0f) {
        decode_two(out, &f, pc);
    } else if (opcode == 0xc4 || opcode == 0xc5) {
        decode_vex(out, &f, opcode);
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
