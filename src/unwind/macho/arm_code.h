/* SPDX-License-Identifier: MIT
 *
 * A decoder for arm64: how instructions change the stack pointer, the frame pointer and saved registers.
 * Compiled for each CPU. On the worker thread, also during a hang, so without allocation.
 */
#ifndef HD_UNWIND_MACHO_ARM_CODE_H
#define HD_UNWIND_MACHO_ARM_CODE_H

#include "base/memory.h"

#define HD_ARM_SP 31u /* also: a register of no interest */
#define HD_ARM_WINDOW 16u

enum hd_arm_kind {
    HD_ARM_UNKNOWN,
    HD_ARM_PLAIN,         /* changes no more than the general registers reg[0] and reg[1] */
    HD_ARM_STORE,         /* stores reg[0], reg[1] at base + offset, and adds `moved` to the stack pointer */
    HD_ARM_LOAD,          /* loads them from there */
    HD_ARM_SET_SP,        /* sp = base + offset */
    HD_ARM_SET_FP,        /* x29 = base + offset */
    HD_ARM_COPY,          /* reg[0] = reg[1] */
    HD_ARM_CALL,          /* of `target`; 0: by a register */
    HD_ARM_BRANCH,        /* conditional */
    HD_ARM_JUMP,          /* to `target` */
    HD_ARM_JUMP_REGISTER, /* to an address in a register */
    HD_ARM_RETURN,        /* by x30 */
};

struct hd_arm_code {
    uint8_t kind;  /* enum hd_arm_kind */
    uint8_t base;  /* HD_ARM_SP or 29 */
    uint8_t count; /* of general registers in reg[]; words of float registers are not among them */
    uint8_t reg[2];
    int64_t offset, moved;
    uint64_t target;
};

/* Instructions that were read together. */
struct hd_arm_window {
    const struct hd_memory *memory;
    uint64_t at; /* the address of word[0] */
    uint32_t count;
    uint32_t word[HD_ARM_WINDOW];
};

/* Decodes the instruction `word` at `pc`. */
void hd_arm_decode(uint32_t word, uint64_t pc, struct hd_arm_code *out);

/* Reads and decodes the instruction at pc. False: it is unreadable. */
bool hd_arm_read(struct hd_arm_window *w, uint64_t pc, struct hd_arm_code *out);

#endif
