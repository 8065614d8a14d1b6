/* SPDX-License-Identifier: MIT
 *
 * Runs the call frame information program of an FDE (DWARF 5, section 6.4) up to an address. The result is
 * the row of the FDE's table for that address. The code is the same for each CPU with 64-bit registers. On
 * the worker thread, also during a hang, so without allocation.
 */
#ifndef HD_UNWIND_CFA_H
#define HD_UNWIND_CFA_H

#include "base/types.h"
#include "unwind/eh_frame.h"

#define HD_REMEMBER_MAX 16u /* nesting of DW_CFA_remember_state; 1 is the most that compilers write */

enum hd_how { /* where the caller's value of a register is */
    HD_HOW_UNSPECIFIED,
    HD_HOW_UNDEFINED,
    HD_HOW_SAME,
    HD_HOW_OFFSET,         /* in memory at CFA + value */
    HD_HOW_VAL_OFFSET,     /* is CFA + value */
    HD_HOW_REGISTER,       /* in register number value */
    HD_HOW_EXPRESSION,     /* in memory at the result of the expression whose bytes are at address value */
    HD_HOW_VAL_EXPRESSION, /* is the result of that expression */
};

struct hd_register_rule {
    uint8_t how;    /* enum hd_how */
    uint32_t bytes; /* the length of the expression */
    int64_t value;
};

struct hd_row {
    uint64_t start, stop; /* the row is valid for the addresses [start, stop) */
    bool cfa_known;
    bool cfa_expression; /* false: CFA = register + offset */
    bool signal_frame;
    bool return_signed; /* arm64: the return address carries an authentication code */
    uint32_t cfa_register;
    int64_t cfa_offset;
    uint64_t cfa_code; /* the expression's address */
    uint32_t cfa_bytes;
    uint32_t return_column;
    struct hd_register_rule reg[HD_REGS_MAX]; /* rules of registers with higher numbers are ignored */
};

/* Memory that hd_cfa_row needs while it runs: 9 KB, too much for a small stack. */
struct hd_cfa_scratch {
    struct hd_row initial;
    struct hd_row remembered[HD_REMEMBER_MAX];
};

/* Finds the row for pc, which must lie in the FDE. Returns 0; -EINVAL: the program is malformed, and *out
 * may be half written. */
int hd_cfa_row(const struct hd_memory *memory, const struct hd_fde *fde, uint64_t pc,
               struct hd_cfa_scratch *scratch, struct hd_row *out);

#endif
