/* SPDX-License-Identifier: MIT
 *
 * The call frame information program (DWARF 5, section 6.4): an FDE and an address in, the row of its table
 * that holds there out. Knows no machine but the width of a register. Worker: may run while a hang is on, no
 * allocation.
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
    HD_HOW_EXPRESSION,     /* in memory at the address that the expression at address value gives */
    HD_HOW_VAL_EXPRESSION, /* is what the expression gives */
};

struct hd_register_rule {
    uint8_t how;    /* enum hd_how */
    uint32_t bytes; /* of the expression */
    int64_t value;
};

struct hd_row {
    uint64_t start, stop; /* addresses for which it holds: [start, stop) */
    bool cfa_known;
    bool cfa_expression; /* else CFA = register + offset */
    bool signal_frame;
    bool return_signed; /* arm64: the return address carries an authentication code */
    uint32_t cfa_register;
    int64_t cfa_offset;
    uint64_t cfa_code; /* address of the expression */
    uint32_t cfa_bytes;
    uint32_t return_column;
    struct hd_register_rule reg[HD_REGS_MAX]; /* registers beyond are parsed and forgotten */
};

/* Memory of the interpreter: 9 KB that would weigh on a small stack. */
struct hd_cfa_scratch {
    struct hd_row initial;
    struct hd_row remembered[HD_REMEMBER_MAX];
};

/* The row for pc, which lies in the FDE. -EINVAL: malformed; *out may be half written. */
int hd_cfa_row(const struct hd_memory *memory, const struct hd_fde *fde, uint64_t pc,
               struct hd_cfa_scratch *scratch, struct hd_row *out);

#endif
