/* SPDX-License-Identifier: MIT
 *
 * The builder of made-up call frame information.
 */
#include "unwind_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t n) {
    const struct unwind_bytes *b = ctx;
    uint64_t offset = addr - BYTES_AT;
    if (offset > b->readable || n > b->readable - offset) {
        return -EFAULT;
    }
    memcpy(dst, b->data + offset, n);
    return 0;
}

static int find_bytes(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path,
                      size_t path_bytes) {
    const struct unwind_bytes *b = m->find_ctx;
    if (pc < BYTES_AT || pc >= CODE_END) {
        return -ENOENT;
    }
    out->lo = BYTES_AT;
    out->hi = CODE_END;
    out->eh_frame_hdr = b->hdr;
    out->handle = 1;
    if (path != NULL && path_bytes > 5) {
        memcpy(path, "/made", 6);
    }
    return 0;
}

void bytes_init(struct unwind_bytes *b) {
    memset(b, 0, sizeof *b);
    b->modules.memory = (struct hd_memory){.read = read_bytes, .ctx = b};
    b->modules.find = find_bytes;
    b->modules.find_ctx = b;
}

uint64_t bytes_here(const struct unwind_bytes *b) {
    return BYTES_AT + b->used;
}

void bytes_put(struct unwind_bytes *b, const void *p, size_t n) {
    if (n > BYTES_MAX - b->used) {
        abort();
    }
    memcpy(b->data + b->used, p, n);
    b->used += n;
    b->readable = b->used;
}

void bytes_u8(struct unwind_bytes *b, unsigned v) {
    uint8_t byte = (uint8_t)v;
    bytes_put(b, &byte, 1);
}

void bytes_u32(struct unwind_bytes *b, uint32_t v) {
    bytes_put(b, &v, sizeof v);
}

void bytes_u64(struct unwind_bytes *b, uint64_t v) {
    bytes_put(b, &v, sizeof v);
}

void bytes_uleb(struct unwind_bytes *b, uint64_t v) {
    do {
        bytes_u8(b, (unsigned)(v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v != 0);
}

void bytes_sleb(struct unwind_bytes *b, int64_t v) {
    for (;;) {
        unsigned byte = (unsigned)(v & 0x7f);
        v >>= 7;
        if ((v == 0 && (byte & 0x40) == 0) || (v == -1 && (byte & 0x40) != 0)) {
            bytes_u8(b, byte);
            return;
        }
        bytes_u8(b, byte | 0x80);
    }
}

void bytes_record_begin(struct unwind_bytes *b) {
    b->record = b->used;
    bytes_u32(b, 0);
}

void bytes_record_end(struct unwind_bytes *b) {
    while (b->used % 8 != 0) {
        bytes_u8(b, 0); /* DW_CFA_nop */
    }
    uint32_t length = (uint32_t)(b->used - b->record - 4);
    memcpy(b->data + b->record, &length, sizeof length);
}

static void cie(struct unwind_bytes *b, bool signal_frame, unsigned sp, unsigned ra) {
    b->cie = bytes_here(b);
    bytes_record_begin(b);
    bytes_u32(b, 0);
    bytes_u8(b, 1);
    bytes_put(b, signal_frame ? "zRS" : "zR", signal_frame ? 4 : 3);
    bytes_uleb(b, 1);
    bytes_sleb(b, -8);
    bytes_u8(b, ra);
    bytes_uleb(b, 1);
    bytes_u8(b, 0x1b);
    bytes_u8(b, 0x0c); /* def_cfa sp 8, offset ra 1 */
    bytes_u8(b, sp);
    bytes_u8(b, 8);
    bytes_u8(b, 0x80 | ra);
    bytes_u8(b, 1);
    bytes_record_end(b);
}

void bytes_cie(struct unwind_bytes *b, bool signal_frame) {
    cie(b, signal_frame, 7, 16);
}

void bytes_cie_of_cpu(struct unwind_bytes *b, bool signal_frame) {
    cie(b, signal_frame, BYTES_SP[0], BYTES_RA[0]);
}

void bytes_fde_begin(struct unwind_bytes *b, uint64_t start, uint32_t length) {
    b->fde[b->fdes] = bytes_here(b);
    b->start[b->fdes++] = start;
    bytes_record_begin(b);
    bytes_u32(b, (uint32_t)(bytes_here(b) - b->cie));
    bytes_u32(b, (uint32_t)(start - bytes_here(b)));
    bytes_u32(b, length);
    bytes_uleb(b, 0);
}

void bytes_finish(struct unwind_bytes *b, bool table) {
    bytes_u32(b, 0);
    b->hdr = bytes_here(b);
    bytes_put(b, table ? "\x01\x1b\x03\x3b" : "\x01\x1b\xff\xff", 4);
    bytes_u32(b, (uint32_t)(BYTES_AT - bytes_here(b)));
    if (!table) {
        return;
    }
    bytes_u32(b, b->fdes);
    for (unsigned i = 0; i < b->fdes; i++) {
        bytes_u32(b, (uint32_t)(b->start[i] - b->hdr));
        bytes_u32(b, (uint32_t)(b->fde[i] - b->hdr));
    }
}
