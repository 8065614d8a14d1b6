/* SPDX-License-Identifier: MIT
 *
 * The slow halves of the bounded reader: refilling its window, LEB128, encoded pointers.
 * Worker: may run while a hang is on, no allocation.
 */
#include "base/reader.h"

#include <string.h>

const uint8_t *hd_reader_take_slow(struct hd_reader *r, uint32_t n) {
    if (r->bad || n > HD_READER_WINDOW || r->at > r->end || n > r->end - r->at) {
        r->bad = true;
        return NULL;
    }
    uint64_t left = r->end - r->at;
    uint32_t want = left < HD_READER_WINDOW ? (uint32_t)left : HD_READER_WINDOW;
    r->window = r->at;
    r->have = 0;
    /* `end` may lie beyond what is mapped: then what is needed right now may still be there. */
    if (!hd_memory_read(r->memory, r->at, r->buf, want)) {
        want = n;
        if (!hd_memory_read(r->memory, r->at, r->buf, want)) {
            r->bad = true;
            return NULL;
        }
    }
    r->have = want;
    r->at += n;
    return r->buf;
}

uint64_t hd_reader_uleb(struct hd_reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = hd_reader_u8(r);
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    r->bad = true;
    return 0;
}

int64_t hd_reader_sleb(struct hd_reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = hd_reader_u8(r);
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        if ((byte & 0x80) == 0) {
            if (shift + 7 < 64 && (byte & 0x40) != 0) {
                value |= ~UINT64_C(0) << (shift + 7);
            }
            return (int64_t)value;
        }
    }
    r->bad = true;
    return 0;
}

/* The bare number, sign-extended where the encoding is signed. */
static uint64_t number(struct hd_reader *r, uint8_t format) {
    switch (format) {
    case HD_PE_ABSPTR:
    case HD_PE_UDATA8:
    case HD_PE_SDATA8:
        return hd_reader_u64(r);
    case HD_PE_ULEB128:
        return hd_reader_uleb(r);
    case HD_PE_SLEB128:
        return (uint64_t)hd_reader_sleb(r);
    case HD_PE_UDATA2:
        return hd_reader_u16(r);
    case HD_PE_SDATA2:
        return (uint64_t)(int64_t)(int16_t)hd_reader_u16(r);
    case HD_PE_UDATA4:
        return hd_reader_u32(r);
    case HD_PE_SDATA4:
        return (uint64_t)(int64_t)(int32_t)hd_reader_u32(r);
    default:
        r->bad = true;
        return 0;
    }
}

static uint64_t base_of(struct hd_reader *r, uint8_t application, uint64_t here,
                        const struct hd_pe_bases *bases) {
    uint64_t base;
    switch (application) {
    case HD_PE_ABSPTR:
        return 0;
    case HD_PE_PCREL:
        return here;
    case HD_PE_TEXTREL:
        base = bases->text;
        break;
    case HD_PE_DATAREL:
        base = bases->data;
        break;
    case HD_PE_FUNCREL:
        base = bases->func;
        break;
    default:
        base = 0;
    }
    if (base == 0) {
        r->bad = true;
    }
    return base;
}

uint64_t hd_reader_pointer(struct hd_reader *r, uint8_t enc, const struct hd_pe_bases *bases) {
    if (enc == HD_PE_OMIT) {
        return 0;
    }
    if (enc == HD_PE_ALIGNED) {
        hd_reader_skip(r, -r->at & 7);
        return hd_reader_u64(r);
    }
    uint64_t here = r->at;
    uint64_t value = number(r, enc & 0x0f);
    if (value == 0) { /* a null pointer is null in every encoding */
        return 0;
    }
    value += base_of(r, enc & 0x70, here, bases);
    if ((enc & HD_PE_INDIRECT) != 0 && !r->bad) {
        uint64_t target = 0;
        if (!hd_memory_read(r->memory, value, &target, sizeof target)) {
            r->bad = true;
        }
        value = target;
    }
    return r->bad ? 0 : value;
}
