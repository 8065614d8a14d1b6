/* SPDX-License-Identifier: MIT
 *
 * A compact rule: the short form of a row of call frame information. Nearly all rows say the same few things.
 * The CFA is the stack pointer or the frame pointer plus a number. Callee-saved registers are in words below
 * the CFA. On the worker thread, also during a hang, so without allocation.
 */
#ifndef HD_UNWIND_RULE_H
#define HD_UNWIND_RULE_H

#include "base/types.h"

struct hd_row;

#define HD_RULE_SLOTS 12u

enum hd_rule_kind {
    HD_RULE_SP,      /* CFA = stack pointer + offset */
    HD_RULE_FP,      /* CFA = frame pointer + offset */
    HD_RULE_EMPTY,   /* unused cache entry */
    HD_RULE_ROOT,    /* the outermost frame: its return address is undefined */
    HD_RULE_ROW,     /* a compact rule cannot express the row: the walk evaluates the whole row */
    HD_RULE_NO_CFI,  /* code of a module without an unwind table for it */
    HD_RULE_FOREIGN, /* code outside of all modules, such as JIT code */
};

/* Facts about code without unwind tables, kept in the rule's cfa_offset: each read of code is a system call.
 */
#define HD_NOTE_AFTER_CALL 1   /* a call instruction ends at the address behind hd_cached_rule.pc */
#define HD_NOTE_NO_SIGNAL 2    /* the code is not the kernel's return from a signal handler */
#define HD_NOTE_NOT_STRAIGHT 4 /* hd_arch_step_straight found no way to `ret` */

struct hd_rule {
    uint8_t kind;   /* enum hd_rule_kind */
    uint8_t depth;  /* the number of words below the CFA that the rule reads, with the return address */
    uint16_t saved; /* mask of saved registers: bit n is DWARF number n + HD_ARCH_SAVED_SHIFT */
    int32_t cfa_offset;
    /* for each register of HD_ARCH_SLOTS: words from the CFA to its saved value, negative; 0: not saved */
    int8_t slot[HD_RULE_SLOTS];
};

/* An entry of the rule cache. Two entries fill a cache line. */
struct hd_cached_rule {
    uint64_t pc;         /* the address that the rule is for */
    uint32_t start_back; /* bytes from the function's start to pc; UINT32_MAX: not known */
    struct hd_rule rule;
};
_Static_assert(sizeof(struct hd_cached_rule) == 32, "two entries share a cache line");

/* Returns the start of the function; 0: not known. */
static inline uint64_t hd_cached_start(const struct hd_cached_rule *e) {
    return e->start_back != UINT32_MAX ? e->pc - e->start_back : 0;
}

/* Makes the compact rule of a row. Its kind is HD_RULE_ROW if a compact rule cannot express the row. */
void hd_rule_from_row(const struct hd_row *row, struct hd_rule *out);

#endif
