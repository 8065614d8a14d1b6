/* SPDX-License-Identifier: MIT
 *
 * Reads little-endian values from memory that may not be mapped, up to a bound. After the first failure each
 * read gives 0 and `bad` stays set, so a parser tests `bad` once for each entry. The reader keeps a window of
 * bytes, since each read of live memory is a system call. Worker: may run while a hang lasts; no allocation.
 */
#ifndef HD_READER_H
#define HD_READER_H

#include <string.h>

#include "base/memory.h"

#define HD_READER_WINDOW 256u

struct hd_reader {
    const struct hd_memory *memory;
    uint64_t at;     /* address of the next byte */
    uint64_t end;    /* first address that must not be read */
    uint64_t window; /* address of buf[0] */
    uint32_t have;   /* bytes in buf */
    bool bad;
    uint8_t buf[HD_READER_WINDOW];
};

static inline void hd_reader_init(struct hd_reader *r, const struct hd_memory *memory, uint64_t at,
                                  uint64_t end) {
    r->memory = memory;
    r->at = at;
    r->end = end;
    r->window = at;
    r->have = 0;
    r->bad = at > end;
}

/* Moves to any address up to `end`, also backwards. The bytes of the window stay. */
static inline void hd_reader_seek(struct hd_reader *r, uint64_t at) {
    r->at = at;
    r->bad |= at > r->end;
}

/* Reads the `n` bytes at `r->at`, at most HD_READER_WINDOW, into the window and steps over them. NULL: they
 * cannot be read, and `bad` is set. */
const uint8_t *hd_reader_take_slow(struct hd_reader *r, uint32_t n);

static inline const uint8_t *hd_reader_take(struct hd_reader *r, uint32_t n) {
    uint64_t offset = r->at - r->window;
    if (!r->bad && offset <= r->have && n <= r->have - offset && n <= r->end - r->at) {
        r->at += n;
        return r->buf + offset;
    }
    return hd_reader_take_slow(r, n);
}

/* The next `n` bytes, at most 8, as a number. */
__attribute__((always_inline)) static inline uint64_t hd_reader_bytes(struct hd_reader *r, uint32_t n) {
    uint64_t v = 0;
    const uint8_t *p = hd_reader_take(r, n);
    if (p != NULL) {
        memcpy(&v, p, n);
    }
    return v;
}

static inline uint8_t hd_reader_u8(struct hd_reader *r) {
    return (uint8_t)hd_reader_bytes(r, 1);
}

static inline uint16_t hd_reader_u16(struct hd_reader *r) {
    return (uint16_t)hd_reader_bytes(r, 2);
}

static inline uint32_t hd_reader_u32(struct hd_reader *r) {
    return (uint32_t)hd_reader_bytes(r, 4);
}

static inline uint64_t hd_reader_u64(struct hd_reader *r) {
    return hd_reader_bytes(r, 8);
}

/* A number in LEB128. Bits beyond the 64th are dropped; more than 10 bytes are bad. */
uint64_t hd_reader_uleb(struct hd_reader *r);
int64_t hd_reader_sleb(struct hd_reader *r);

/* Steps over n bytes. */
static inline void hd_reader_skip(struct hd_reader *r, uint64_t n) {
    if (r->bad || n > r->end - r->at) {
        r->bad = true;
    } else {
        r->at += n;
    }
}

/* ---- encoded pointers (DW_EH_PE_*) ---------------------------------------------------------- */

enum {
    HD_PE_ABSPTR = 0x00,
    HD_PE_ULEB128 = 0x01,
    HD_PE_UDATA2 = 0x02,
    HD_PE_UDATA4 = 0x03,
    HD_PE_UDATA8 = 0x04,
    HD_PE_SLEB128 = 0x09,
    HD_PE_SDATA2 = 0x0a,
    HD_PE_SDATA4 = 0x0b,
    HD_PE_SDATA8 = 0x0c,
    HD_PE_PCREL = 0x10,
    HD_PE_TEXTREL = 0x20,
    HD_PE_DATAREL = 0x30,
    HD_PE_FUNCREL = 0x40,
    HD_PE_ALIGNED = 0x50,
    HD_PE_INDIRECT = 0x80,
    HD_PE_OMIT = 0xff,
};

/* The addresses that relative encodings count from. 0: not known, so a pointer relative to it is bad. */
struct hd_pe_bases {
    uint64_t text, data, func;
};

/* A pointer of encoding `enc`; 0 for HD_PE_OMIT. An encoding that does not exist is bad. */
uint64_t hd_reader_pointer(struct hd_reader *r, uint8_t enc, const struct hd_pe_bases *bases);

#endif
