/* SPDX-License-Identifier: MIT
 *
 * A row of call frame information, boiled down to what nearly all of them say: the CFA is the stack pointer
 * or the frame pointer plus a number, and callee-saved registers are in words below it. Worker: may run while
 * a hang is on, no allocation.
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
    HD_RULE_ROW,     /* not expressible: the whole row is evaluated */
    HD_RULE_NO_CFI,  /* in a module, and nothing describes it */
    HD_RULE_FOREIGN, /* in no module: code made at run time */
};

/* What was found out about code without tables, in cfa_offset: each look at it is a system call. */
#define HD_NOTE_AFTER_CALL 1   /* a call ends at the address after the one looked up */
#define HD_NOTE_NO_SIGNAL 2    /* it does not return from a signal handler */
#define HD_NOTE_NOT_STRAIGHT 4 /* its instructions do not show the way to its end */

struct hd_rule {
    uint8_t kind;  /* enum hd_rule_kind */
    uint8_t depth; /* words below the CFA that the rule reads, the return address included */
    uint16_t
        saved; /* registers that have a slot, as a mask of DWARF numbers shifted by HD_ARCH_SAVED_SHIFT */
    int32_t cfa_offset;
    int8_t slot[HD_RULE_SLOTS]; /* in words from the CFA, negative; 0: not saved. Which register:
                                   HD_ARCH_SLOTS */
};

/* One entry of the cache. */
struct hd_cached_rule {
    uint64_t pc;         /* address that was looked up */
    uint32_t start_back; /* the function begins so much below it; UINT32_MAX: not known */
    struct hd_rule rule;
};
_Static_assert(sizeof(struct hd_cached_rule) == 32, "two entries share a cache line");

static inline uint64_t hd_cached_start(const struct hd_cached_rule *e) {
    return e->start_back != UINT32_MAX ? e->pc - e->start_back : 0;
}

/* Boils a row down; kind is HD_RULE_ROW when it does not fit. */
void hd_rule_from_row(const struct hd_row *row, struct hd_rule *out);

#endif
