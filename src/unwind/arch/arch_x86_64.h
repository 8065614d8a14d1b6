/* SPDX-License-Identifier: MIT
 *
 * x86-64: register numbers (System V psABI 1.0, figure 3.36) and how to apply a compact rule (struct
 * hd_rule). On the worker thread, also during a hang, so without allocation.
 */
#ifndef HD_UNWIND_ARCH_X86_64_H
#define HD_UNWIND_ARCH_X86_64_H

#include "base/types.h"
#include "unwind/cfa.h"
#include "unwind/rule.h"

#define HD_ARCH_FP 6u
#define HD_ARCH_SP 7u
#define HD_ARCH_PC 16u /* the return address column */
#define HD_ARCH_REGS 17u

/* Registers that a compact rule can restore: rbp, rbx, r12 to r15. */
#define HD_ARCH_SLOTS \
    { 6, 3, 12, 13, 14, 15 }
#define HD_ARCH_FP_SLOT 0u
#define HD_ARCH_SAVED_SHIFT 0u
#define HD_ARCH_CALLEE_SAVED (UINT64_C(1) << 3 | UINT64_C(1) << 6 | UINT64_C(0xf) << 12)
#define HD_ARCH_RETURN_WORDS 1u /* the return address is always in the word below the CFA */
#define HD_ARCH_RECORD_ENDS_FRAME true
#define HD_ARCH_LEAF_KEEPS_SP false /* a call always moves the stack pointer */

static inline bool hd_arch_return_is_plain(const struct hd_row *row) {
    const struct hd_register_rule *ra = &row->reg[HD_ARCH_PC];
    return row->return_column == HD_ARCH_PC && ra->how == HD_HOW_OFFSET && ra->value == -8;
}

/* False: the return address is in a register whose value is not known. */
static inline bool hd_arch_return_known(const struct hd_rule *rule, uint64_t valid) {
    (void)rule;
    (void)valid;
    return true;
}

#define HD_ARCH_MACHO_CPU 0x01000007u

static inline uint64_t hd_arch_strip(uint64_t pc) {
    return pc;
}

/* Removes what a frame pointer has above its address. On Apple's systems Swift marks the frame of an
 * asynchronous function in bit 60. HD_UNWIND_SWIFT: a test on Linux unwinds such frames. */
static inline uint64_t hd_arch_frame_address(uint64_t fp) {
#if defined(__APPLE__) || defined(HD_UNWIND_SWIFT)
    return fp & ~(UINT64_C(1) << 60);
#else
    return fp;
#endif
}

static inline uint64_t hd_arch_word(const uint8_t *p) {
    uint64_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

/* Reads the caller's registers into `r` from the words below `cfa`, a pointer into the stack copy. The copy
 * must have rule->depth words there. The frame pointer goes to *fp instead, so that a loop can keep it in a
 * CPU register. Returns the return address. Leaves the stack pointer to the user of this function. */
static inline uint64_t hd_arch_apply(const struct hd_rule *rule, const uint8_t *cfa, uint64_t *r,
                                     uint64_t *fp) {
    static const uint8_t number[] = HD_ARCH_SLOTS;
    if (rule->slot[0] != 0) {
        *fp = hd_arch_word(cfa + 8 * (ptrdiff_t)rule->slot[0]);
    }
#pragma GCC unroll 6
    for (unsigned i = 1; i < sizeof number; i++) {
        if (rule->slot[i] != 0) {
            r[number[i]] = hd_arch_word(cfa + 8 * (ptrdiff_t)rule->slot[i]);
        }
    }
    return hd_arch_word(cfa - 8);
}

/* Returns the mask of the registers that are known in the caller. */
static inline uint64_t hd_arch_valid_after(const struct hd_rule *rule, uint64_t valid) {
    return (valid & HD_ARCH_CALLEE_SAVED) | rule->saved;
}

#endif
