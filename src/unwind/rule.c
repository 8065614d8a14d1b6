/* SPDX-License-Identifier: MIT
 *
 * Makes compact rules of rows. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/rule.h"

#include <string.h>

#include "unwind/arch/arch.h"
#include "unwind/cfa.h"

/* Returns how many words below the CFA a register is saved; 0: hd_rule.slot cannot express the register's
 * rule. */
static int words_below(const struct hd_register_rule *r) {
    if (r->how != HD_HOW_OFFSET || r->value >= 0 || r->value < -8 * INT8_MAX || r->value % 8 != 0) {
        return 0;
    }
    return (int)(-r->value / 8);
}

static bool is_untouched(const struct hd_register_rule *r) {
    return r->how == HD_HOW_UNSPECIFIED || r->how == HD_HOW_SAME;
}

static int slot_of(uint32_t reg) {
    static const uint8_t slots[] = HD_ARCH_SLOTS;
    for (unsigned i = 0; i < sizeof slots; i++) {
        if (slots[i] == reg) {
            return (int)i;
        }
    }
    return -1;
}

/* Adds register `reg` to the compact rule. False: a compact rule cannot express the register's rule. */
static bool compact_register(const struct hd_row *row, uint32_t reg, struct hd_rule *rule) {
    const struct hd_register_rule *r = &row->reg[reg];
    int slot = slot_of(reg);
    if (is_untouched(r) || (slot < 0 && r->how == HD_HOW_UNDEFINED && reg != row->return_column)) {
        return true;
    }
    int words = words_below(r);
    if (slot < 0 || words == 0) {
        return false;
    }
    rule->slot[slot] = (int8_t)-words;
    rule->saved |= (uint16_t)(1u << (reg - HD_ARCH_SAVED_SHIFT));
    if (words > rule->depth) {
        rule->depth = (uint8_t)words;
    }
    return true;
}

void hd_rule_from_row(const struct hd_row *row, struct hd_rule *out) {
    struct hd_rule rule = {.kind = HD_RULE_ROW};
    memset(out, 0, sizeof *out);
    out->kind = HD_RULE_ROW;
    if (row->return_column < HD_REGS_MAX && row->reg[row->return_column].how == HD_HOW_UNDEFINED) {
        out->kind = HD_RULE_ROOT;
        return;
    }
    if (!row->cfa_known || row->cfa_expression || row->signal_frame || !hd_arch_return_is_plain(row) ||
        row->cfa_offset < INT32_MIN || row->cfa_offset > INT32_MAX) {
        return;
    }
    if (row->cfa_register != HD_ARCH_SP && row->cfa_register != HD_ARCH_FP) {
        return;
    }
    rule.depth = HD_ARCH_RETURN_WORDS;
    for (uint32_t reg = 0; reg < HD_ARCH_REGS; reg++) {
        if (reg != HD_ARCH_PC && !compact_register(row, reg, &rule)) {
            return;
        }
    }
    rule.kind = row->cfa_register == HD_ARCH_SP ? HD_RULE_SP : HD_RULE_FP;
    rule.cfa_offset = (int32_t)row->cfa_offset;
    *out = rule;
}
