/* SPDX-License-Identifier: MIT
 *
 * Compact unwind information that a test writes by hand: two shared encodings, a compressed page and a
 * regular page. The section is its own memory, of which a test may damage any part.
 */
#ifndef UNWIND_INFO_H
#define UNWIND_INFO_H

#include <string.h>

#include "image/macho/macho.h"

#define INFO_TEXT UINT64_C(0x104000000)
#define INFO_AT (INFO_TEXT + 0x8000)
#define INFO_BYTES 0x100u

/* Offsets in the section. */
enum {
    INFO_COMMON = 28,
    INFO_INDEX = 36,
    INFO_COMPRESSED = 72,
    INFO_ENTRIES = 84,
    INFO_OWN = 96,
    INFO_REGULAR = 100
};

struct unwind_info {
    uint8_t bytes[INFO_BYTES];
    uint32_t readable; /* bytes from the section's start */
    struct hd_memory memory;
    struct hd_macho_tables tables;
};

static inline void info_u32(struct unwind_info *u, uint32_t at, uint32_t value) {
    memcpy(u->bytes + at, &value, sizeof value);
}

static inline void info_u16(struct unwind_info *u, uint32_t at, uint16_t value) {
    memcpy(u->bytes + at, &value, sizeof value);
}

static inline int info_read(void *ctx, uint64_t addr, void *dst, size_t n) {
    const struct unwind_info *u = ctx;
    uint64_t at = addr - INFO_AT;
    if (at > u->readable || n > u->readable - at) {
        return -1;
    }
    memcpy(dst, u->bytes + at, n);
    return 0;
}

static inline void info_words(struct unwind_info *u, uint32_t at, const uint32_t *words, uint32_t count) {
    memcpy(u->bytes + at, words, 4 * (size_t)count);
}

/* The compressed page has the functions 0x1000 (frame), 0x1100 (frameless), 0x1180 (an encoding of its own).
 * The regular page has 0x2000 (frame with saved registers) and 0x2040 (nothing). The end is 0x3000. */
static inline void info_init(struct unwind_info *u) {
    static const uint32_t head[] = {1, INFO_COMMON, 2, 0, 0, INFO_INDEX, 3, 0x04000000, 0x02001000};
    static const uint32_t index[] = {0x1000, INFO_COMPRESSED, 0, 0x2000, INFO_REGULAR, 0, 0x3000, 0, 0};
    static const uint32_t entries[] = {0x00000000, 0x01000100, 0x02000180, 0x03000044};
    static const uint32_t regular[] = {0x2000, 0x04000001, 0x2040, 0};
    memset(u, 0, sizeof *u);
    info_words(u, 0, head, 9);
    info_words(u, INFO_INDEX, index, 9);
    info_u32(u, INFO_COMPRESSED, 3);
    info_u16(u, INFO_COMPRESSED + 4, INFO_ENTRIES - INFO_COMPRESSED);
    info_u16(u, INFO_COMPRESSED + 6, 3);
    info_u16(u, INFO_COMPRESSED + 8, INFO_OWN - INFO_COMPRESSED);
    info_u16(u, INFO_COMPRESSED + 10, 1);
    info_words(u, INFO_ENTRIES, entries, 4);
    info_u32(u, INFO_REGULAR, 2);
    info_u16(u, INFO_REGULAR + 4, 8);
    info_u16(u, INFO_REGULAR + 6, 2);
    info_words(u, INFO_REGULAR + 8, regular, 4);
    u->readable = INFO_BYTES;
    u->memory = (struct hd_memory){.read = info_read, .ctx = u};
    u->tables = (struct hd_macho_tables){
        .text = INFO_TEXT, .text_bytes = 0x9000, .unwind_info = INFO_AT, .unwind_info_bytes = INFO_BYTES};
}

#endif
