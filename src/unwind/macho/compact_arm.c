/* SPDX-License-Identifier: MIT
 *
 * Encodings of compact unwind information for arm64. Compiled for each CPU. On the worker thread, also during
 * a hang, so without allocation.
 */
#include <errno.h>
#include <string.h>

#include "unwind/macho/compact.h"

enum {
    MODE_NULL,
    MODE_FRAMELESS = 2,
    MODE_DWARF = 3,
    MODE_FRAME = 4
};

#define GENERAL_PAIRS 5u /* bits 0 to 4: x19 and x20, up to x27 and x28 */
#define FLOAT_PAIRS 4u   /* bits 8 to 11: d8 and d9, up to d14 and d15; callers' frames need none of them */
#define X19 19u
#define X29 29u
#define X30 30u
#define SP 31u

static void saved(struct hd_row *row, uint32_t reg, int64_t offset) {
    row->reg[reg] = (struct hd_register_rule){.how = HD_HOW_OFFSET, .value = offset};
}

/* The pairs lie downwards from `offset`, the first register of a pair above the second. The float pairs are
 * the lowest. Returns the number of words. */
static int64_t pairs(uint32_t encoding, int64_t offset, struct hd_row *row) {
    int64_t at = offset;
    for (unsigned i = 0; i < GENERAL_PAIRS; i++) {
        if ((encoding >> i & 1) != 0) {
            saved(row, X19 + 2 * i, at);
            saved(row, X19 + 2 * i + 1, at - 8);
            at -= 16;
        }
    }
    return (offset - at) / 8 + 2 * __builtin_popcount(encoding >> 8 & ((1u << FLOAT_PAIRS) - 1));
}

int hd_compact_row_aarch64(const struct hd_compact_entry *entry, struct hd_row *row) {
    uint32_t encoding = entry->encoding;
    memset(row, 0, sizeof *row);
    row->start = entry->start;
    row->stop = entry->stop;
    row->return_column = X30;
    row->cfa_known = true;
    switch (encoding >> 24 & 0xf) {
    case MODE_NULL:
        return HD_COMPACT_NULL;
    case MODE_FRAMELESS:
        row->cfa_register = SP;
        row->cfa_offset = 16 * (int64_t)(encoding >> 12 & 0xfff);
        return 8 * pairs(encoding, -8, row) > row->cfa_offset ? -EINVAL : HD_COMPACT_FRAMELESS;
    case MODE_DWARF:
        return HD_COMPACT_DWARF;
    case MODE_FRAME:
        row->cfa_register = X29;
        row->cfa_offset = 16;
        saved(row, X29, -16);
        saved(row, X30, -8);
        (void)pairs(encoding, -24, row);
        return HD_COMPACT_FRAME;
    default:
        return -EINVAL;
    }
}
