/* SPDX-License-Identifier: MIT
 *
 * A decoder for x86-64: how instructions change the stack pointer, the frame pointer and saved registers.
 * Compiled for each CPU. On the worker thread, also during a hang, so without allocation.
 */
#ifndef HD_UNWIND_MACHO_INTEL_CODE_H
#define HD_UNWIND_MACHO_INTEL_CODE_H

#include "base/memory.h"

#define HD_INTEL_BYTES_MAX 15u
#define HD_INTEL_NONE 16u /* no general register */
#define HD_INTEL_WINDOW 64u

enum hd_intel_kind {
    HD_INTEL_UNKNOWN,
    HD_INTEL_PLAIN,    /* changes no more than the general register `reg` */
    HD_INTEL_PUSH,     /* pushes `reg`, or HD_INTEL_NONE: another value */
    HD_INTEL_POP,      /* pops `reg` */
    HD_INTEL_MOVE_SP,  /* adds `value` to the stack pointer */
    HD_INTEL_SET_FP,   /* rbp = rsp + value */
    HD_INTEL_SP_BY_FP, /* rsp = rbp + value */
    HD_INTEL_LEAVE,    /* rsp = rbp; pop rbp */
    HD_INTEL_CALL,
    HD_INTEL_BRANCH,        /* conditional */
    HD_INTEL_JUMP,          /* to `target` */
    HD_INTEL_JUMP_INDIRECT, /* to an address in a register or in memory */
    HD_INTEL_RETURN,
};

/* General registers are in DWARF's numbers: rbx 3, rbp 6, rsp 7, r12 to r15. */
struct hd_intel_code {
    uint8_t kind;   /* enum hd_intel_kind */
    uint8_t length; /* bytes; 0: unknown */
    uint8_t reg;
    int64_t value;
    uint64_t target;
};

/* Bytes that were read together. */
struct hd_intel_window {
    const struct hd_memory *memory;
    uint64_t at; /* the address of byte[0] */
    uint32_t count;
    uint8_t byte[HD_INTEL_WINDOW + HD_INTEL_BYTES_MAX];
};

/* Decodes the instruction at `code`, which has HD_INTEL_BYTES_MAX bytes and is at address `pc`. */
void hd_intel_decode(const uint8_t *code, uint64_t pc, struct hd_intel_code *out);

/* Reads and decodes the instruction at pc. False: it is unreadable. */
bool hd_intel_read(struct hd_intel_window *w, uint64_t pc, struct hd_intel_code *out);

#endif
