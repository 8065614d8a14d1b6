/* SPDX-License-Identifier: MIT */
#include "fixups.h"

#include <err.h>
#include <string.h>

static uint64_t uleb(const uint8_t **p) {
    uint64_t value = 0;
    int shift = 0;
    do {
        value |= (uint64_t)(**p & 127) << shift;
        shift += 7;
    } while (*(*p)++ & 128);
    return value;
}

static int64_t sleb(const uint8_t **p) {
    int64_t value = 0;
    int shift = 0;
    uint8_t byte;
    do {
        byte = *(*p)++;
        value |= (int64_t)(byte & 127) << shift;
        shift += 7;
    } while (byte & 128);
    return shift < 64 && (byte & 64) ? value | -((int64_t)1 << shift) : value;
}

static void rebase(struct image *image, const uint8_t *p, const uint8_t *end) {
    uint64_t at = 0;
    while (p < end) {
        unsigned opcode = *p & 0xf0, n = *p & 15;
        uint64_t count = 1, skip = 0;
        p++;
        switch (opcode) {
        case 0x00:
            return;
        case 0x10:
            continue; /* the type: always a pointer */
        case 0x20:
            at = image->segment[n] + uleb(&p);
            continue;
        case 0x30:
            at += uleb(&p);
            continue;
        case 0x40:
            at += n * 8;
            continue;
        case 0x50:
            count = n;
            break;
        case 0x60:
            count = uleb(&p);
            break;
        case 0x70:
            skip = uleb(&p);
            break;
        case 0x80:
            count = uleb(&p);
            skip = uleb(&p);
            break;
        default:
            errx(2, "%s: rebase opcode %x", image->path, opcode);
        }
        for (; count > 0; count--, at += 8 + skip) {
            *(uint64_t *)at += image->slide;
        }
    }
}

struct binding {
    struct image *image;
    fixups_resolve *resolve;
    void *arg;
    const char *name;
    bool weak;
    int64_t addend;
};

static uint64_t value_of(const struct binding *b) {
    uint64_t address = b->resolve(b->name, b->weak, b->arg);
    return address ? address + (uint64_t)b->addend : 0;
}

static void bind(struct binding *b, const uint8_t *p, const uint8_t *end, bool lazy) {
    uint64_t at = 0;
    while (p < end) {
        unsigned opcode = *p & 0xf0, n = *p & 15;
        uint64_t count = 1, skip = 0;
        p++;
        switch (opcode) {
        case 0x00:
            if (!lazy) {
                return;
            }
            continue;
        case 0x10:
            continue; /* the dylib's ordinal: names are unique here */
        case 0x20:
            uleb(&p);
            continue;
        case 0x30:
            continue;
        case 0x40:
            b->name = (const char *)p;
            b->weak = n & 1;
            p += strlen(b->name) + 1;
            continue;
        case 0x50:
            continue;
        case 0x60:
            b->addend = sleb(&p);
            continue;
        case 0x70:
            at = b->image->segment[n] + uleb(&p);
            continue;
        case 0x80:
            at += uleb(&p);
            continue;
        case 0x90:
            break;
        case 0xa0:
            skip = uleb(&p);
            break;
        case 0xb0:
            skip = n * 8;
            break;
        case 0xc0:
            count = uleb(&p);
            skip = uleb(&p);
            break;
        default:
            errx(2, "%s: bind opcode %x", b->image->path, opcode);
        }
        for (; count > 0; count--, at += 8 + skip) {
            *(uint64_t *)at = value_of(b);
        }
    }
}

/* ---- chained fixups: pointers of 64 bits (formats 2 and 6) --------------------------------- */

struct chain_header {
    uint32_t version, starts, imports, symbols, import_count, import_format, symbol_format;
};
struct chain_starts {
    uint32_t size;
    uint16_t page_size, format;
    uint64_t segment_offset;
    uint32_t max_value;
    uint16_t pages, first[];
};

static uint64_t chained_value(struct binding *b, const struct chain_header *h, uint64_t word, int format) {
    if (!(word >> 63)) { /* a rebase: 36 bits of target, then the high 8 bits */
        uint64_t target = (word & 0xfffffffffull) | (word >> 36 & 0xff) << 56;
        return format == 6 ? (uint64_t)b->image->base + target : b->image->slide + target;
    }
    uint32_t import = ((const uint32_t *)(const void *)((const uint8_t *)h + h->imports))[word & 0xffffff];
    b->name = (const char *)h + h->symbols + (import >> 9);
    b->weak = import >> 8 & 1;
    b->addend = (int64_t)(word >> 24 & 0xff);
    return value_of(b);
}

static void chained(struct binding *b) {
    const struct chain_header *h = (const void *)(b->image->file + b->image->chained->offset);
    const uint32_t *offsets = (const void *)((const uint8_t *)h + h->starts);
    if (h->import_format != 1) {
        errx(2, "%s: imports of format %u", b->image->path, h->import_format);
    }
    for (uint32_t i = 1; i <= offsets[0]; i++) {
        const struct chain_starts *s = (const void *)((const uint8_t *)offsets + offsets[i]);
        if (offsets[i] == 0) {
            continue;
        }
        if (s->format != 2 && s->format != 6) {
            errx(2, "%s: chained pointers of format %u", b->image->path, s->format);
        }
        for (unsigned page = 0; page < s->pages; page++) {
            uint8_t *at = b->image->base + s->segment_offset + (uint64_t)page * s->page_size + s->first[page];
            uint64_t next = s->first[page] == 0xffff ? 0 : 1;
            while (next) {
                uint64_t word = *(uint64_t *)(void *)at;
                *(uint64_t *)(void *)at = chained_value(b, h, word, s->format);
                next = word >> 51 & 0xfff;
                at += next * 4;
            }
        }
    }
}

void fixups_apply(struct image *image, fixups_resolve *resolve, void *arg) {
    struct binding b = {.image = image, .resolve = resolve, .arg = arg};
    const struct macho_dyld_info *i = image->info;
    if (i) {
        const uint8_t *f = image->file;
        rebase(image, f + i->rebase, f + i->rebase + i->rebase_bytes);
        bind(&b, f + i->bind, f + i->bind + i->bind_bytes, false);
        bind(&b, f + i->lazy, f + i->lazy + i->lazy_bytes, true);
    }
    if (image->chained) {
        chained(&b);
    }
}
