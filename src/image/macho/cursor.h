/* SPDX-License-Identifier: MIT
 *
 * Reads a table of a Mach-O image byte by byte, through a window, by reads that may fail. Any thread; no
 * allocation.
 */
#ifndef HD_IMAGE_MACHO_CURSOR_H
#define HD_IMAGE_MACHO_CURSOR_H

#include "base/memory.h"

#define HD_CURSOR_WINDOW 128u

struct hd_cursor {
    const struct hd_memory *memory;
    uint64_t at, end;
    uint64_t budget;    /* bytes that may still be taken; a hostile table costs no more */
    uint64_t window_at; /* address of window[0] */
    uint32_t window_bytes;
    bool failed; /* the table ended, cannot be read, or the budget is spent */
    uint8_t window[HD_CURSOR_WINDOW];
};

static inline void hd_cursor_init(struct hd_cursor *c, const struct hd_memory *memory, uint64_t at,
                                  uint64_t bytes, uint64_t budget) {
    c->memory = memory;
    c->at = at;
    c->end = at + bytes;
    c->budget = budget;
    c->window_at = 0;
    c->window_bytes = 0;
    c->failed = false;
}

/* The next byte; 0 after a failure. */
uint8_t hd_cursor_byte(struct hd_cursor *c);

/* The next number, a ULEB128 of at most 64 bits; 0 after a failure. */
uint64_t hd_cursor_uleb(struct hd_cursor *c);

#endif
