/* SPDX-License-Identifier: MIT
 *
 * Encodings of compact unwind information for x86-64. Compiled for each CPU. On the worker thread, also
 * during a hang, so without allocation.
 */
#include <errno.h>
#include <string.h>

#include "unwind/macho/compact.h"

enum {
    MODE_NULL,
    MODE_FRAME,
    MODE_IMMEDIATE,
    MODE_INDIRECT,
    MODE_DWARF
};

#define NAMES 6u
#define FRAME_NAMES 5u /* names in an encoding of mode frame */
#define RETURN_COLUMN 16u
#define RBP 6u
#define RSP 7u

/* DWARF numbers of the names 1 to 6: rbx, r12 to r15, rbp. */
static const uint8_t registers[NAMES + 1] = {0, 3, 12, 13, 14, 15, RBP};

static void saved(struct hd_row *row, uint32_t reg, int64_t offset) {
    row->reg[reg] = (struct hd_register_rule){.how = HD_HOW_OFFSET, .value = offset};
}

static void cfa(struct hd_row *row, uint32_t reg, int64_t offset) {
    row->cfa_known = true;
    row->cfa_register = reg;
    row->cfa_offset = offset;
    saved(row, RETURN_COLUMN, -8);
}

/* The registers lie upwards from `offset` words below the saved frame pointer. */
static int frame(uint32_t encoding, struct hd_row *row) {
    int64_t at = -16 - 8 * (int64_t)(encoding >> 16 & 0xff);
    cfa(row, RBP, 16);
    saved(row, RBP, -16);
    for (unsigned i = 0; i < FRAME_NAMES; i++, at += 8) {
        uint32_t name = encoding >> 3 * i & 7;
        if (name >= NAMES) { /* the frame pointer is not among them */
            return -EINVAL;
        }
        if (name != 0) {
            if (at >= -16) {
                return -EINVAL;
            }
            saved(row, registers[name], at);
        }
    }
    return HD_COMPACT_FRAME;
}

/* Reads the names of `count` saved registers out of their permutation. Each digit is a name's rank among the
 * names that are not used yet. */
static bool names_of(uint32_t permutation, unsigned count, uint8_t *names) {
    bool used[NAMES + 1] = {false};
    uint32_t digit[NAMES] = {0};
    /* digit i has the base NAMES - i; the last of six has only one value */
    for (unsigned i = count; i-- > 0;) {
        uint32_t base = NAMES - i;
        digit[i] = permutation % base;
        permutation /= base;
    }
    if (permutation != 0) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        uint32_t rank = digit[i];
        for (uint8_t name = 1; name <= NAMES; name++) {
            if (!used[name] && rank-- == 0) {
                names[i] = name;
                used[name] = true;
                break;
            }
        }
    }
    return true;
}

static int frameless(uint32_t encoding, uint64_t size, struct hd_row *row) {
    uint8_t names[NAMES];
    unsigned count = encoding >> 10 & 7;
    if (count > NAMES || size < 8 * (uint64_t)(count + 1) || !names_of(encoding & 0x3ff, count, names)) {
        return -EINVAL;
    }
    cfa(row, RSP, (int64_t)size);
    for (unsigned i = 0; i < count; i++) {
        saved(row, registers[names[i]], -8 - 8 * (int64_t)(count - i));
    }
    return HD_COMPACT_FRAMELESS;
}

int hd_compact_row_x86_64(const struct hd_memory *memory, const struct hd_compact_entry *entry,
                          struct hd_row *row) {
    uint32_t encoding = entry->encoding, subtracted;
    memset(row, 0, sizeof *row);
    row->start = entry->start;
    row->stop = entry->stop;
    row->return_column = RETURN_COLUMN;
    switch (encoding >> 24 & 0xf) {
    case MODE_NULL:
        return HD_COMPACT_NULL;
    case MODE_FRAME:
        return frame(encoding, row);
    case MODE_IMMEDIATE: /* the size includes the return address */
        return frameless(encoding, 8 * (uint64_t)(encoding >> 16 & 0xff), row);
    case MODE_INDIRECT: /* the size is an operand of the function's code */
        if (!hd_memory_read(memory, entry->start + (encoding >> 16 & 0xff), &subtracted, 4)) {
            return -EFAULT;
        }
        return frameless(encoding, subtracted + 8 * (uint64_t)(encoding >> 13 & 7), row);
    case MODE_DWARF:
        return HD_COMPACT_DWARF;
    default:
        return -EINVAL;
    }
}
