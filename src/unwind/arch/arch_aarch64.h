/* SPDX-License-Identifier: MIT
 *
 * arm64: register numbers (DWARF for the Arm 64-bit Architecture, 4.1) and how to apply a compact rule
 * (struct hd_rule). On the worker thread, also during a hang, so without allocation.
 */
#ifndef HD_UNWIND_ARCH_AARCH64_H
#define HD_UNWIND_ARCH_AARCH64_H

#include "base/types.h"
#include "unwind/cfa.h"
#include "unwind/rule.h"

#define HD_ARCH_FP 29u
#define HD_ARCH_LR 30u
#define HD_ARCH_SP 31u
#define HD_ARCH_PC 32u /* not a DWARF column: the return address is in x30's column */
#define HD_ARCH_REGS 32u

/* Registers that a compact rule can restore: x19 to x30. */
#define HD_ARCH_SLOTS \
    { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30 }
#define HD_ARCH_FP_SLOT 10u
#define HD_ARCH_LR_SLOT 11u
#define HD_ARCH_SAVED_SHIFT 19u
#define HD_ARCH_CALLEE_SAVED (UINT64_C(0x7ff) << 19)
#define HD_ARCH_RETURN_WORDS 0u
#define HD_ARCH_RECORD_ENDS_FRAME false /* compilers save registers and variables above it */
#define HD_ARCH_LEAF_KEEPS_SP true      /* the return address of a leaf stays in x30 */

static inline bool hd_arch_return_is_plain(const struct hd_row *row) {
    uint8_t how = row->reg[HD_ARCH_LR].how;
    return row->return_column == HD_ARCH_LR &&
           (how == HD_HOW_OFFSET || how == HD_HOW_UNSPECIFIED || how == HD_HOW_SAME);
}

static inline bool hd_arch_return_known(const struct hd_rule *rule, uint64_t valid) {
    return rule->slot[HD_ARCH_LR_SLOT] != 0 || (valid >> HD_ARCH_LR & 1) != 0;
}

#define HD_ARCH_MACHO_CPU 0x0100000cu

/* Linux gives a program 48 bits of address unless the program asks for more. */
#if defined(__APPLE__)
#define HD_ARCH_ADDRESS_BITS 47u
#else
#define HD_ARCH_ADDRESS_BITS 48u
#endif

/* Removes the authentication code and the tag of an address, which are above its bits. */
static inline uint64_t hd_arch_strip(uint64_t pc) {
    return pc & ((UINT64_C(1) << HD_ARCH_ADDRESS_BITS) - 1);
}

/* Removes what a frame pointer has above its address: Swift's mark of an asynchronous function in bit 60, a
 * memory tag, or an authentication code. Only for a value that is used as an address. */
static inline uint64_t hd_arch_frame_address(uint64_t fp) {
    return hd_arch_strip(fp);
}

static inline uint64_t hd_arch_word(const uint8_t *p) {
    uint64_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

/* As hd_arch_apply of arch_x86_64.h. */
static inline uint64_t hd_arch_apply(const struct hd_rule *rule, const uint8_t *cfa, uint64_t *r,
                                     uint64_t *fp) {
    if (rule->slot[HD_ARCH_FP_SLOT] != 0) {
        *fp = hd_arch_word(cfa + 8 * (ptrdiff_t)rule->slot[HD_ARCH_FP_SLOT]);
    }
#pragma GCC unroll 12
    for (unsigned i = 0; i < HD_RULE_SLOTS; i++) {
        if (rule->slot[i] != 0 && i != HD_ARCH_FP_SLOT) {
            r[HD_ARCH_SAVED_SHIFT + i] = hd_arch_word(cfa + 8 * (ptrdiff_t)rule->slot[i]);
        }
    }
    return hd_arch_strip(r[HD_ARCH_LR]);
}

/* Returns the mask of the registers that are known in the caller. The value of x30 is not: the caller's call
 * instruction has overwritten it. */
static inline uint64_t hd_arch_valid_after(const struct hd_rule *rule, uint64_t valid) {
    return (valid | (uint64_t)rule->saved << HD_ARCH_SAVED_SHIFT) & HD_ARCH_CALLEE_SAVED;
}

#endif
