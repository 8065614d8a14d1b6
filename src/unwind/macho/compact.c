/* SPDX-License-Identifier: MIT
 *
 * Finds entries of compact unwind information. A wrong entry gives wrong callers, and linkers have written
 * unsorted tables. So the search reads a whole page and refuses one that is unsorted. On the worker thread,
 * also during a hang, so without allocation.
 */
#include "unwind/macho/compact.h"

#include <errno.h>

#include "base/reader.h"

#define VERSION 1u
#define INDEX_BYTES 12u /* function offset, page offset, LSDA offset */
#define PAGE_REGULAR 2u
#define PAGE_COMPRESSED 3u

/* A second-level page. */
struct page {
    uint64_t entries;    /* address */
    uint64_t encodings;  /* address; of a compressed page */
    uint32_t count;      /* the number of entries */
    uint32_t own;        /* the number of encodings of a compressed page */
    bool compressed;     /* false: an entry has an offset and an encoding of 32 bits each */
    uint32_t first, end; /* offsets of functions in the page: [first, end) */
};

/* Sets *out to the address of `count` items of `bytes` each. False: they do not lie in the section. */
static bool table_at(const struct hd_compact *c, uint64_t from, uint32_t offset, uint32_t count,
                     uint32_t bytes, uint64_t *out) {
    uint64_t at = from + offset;
    if (at < from || at > c->end || (uint64_t)count * bytes > c->end - at) {
        return false;
    }
    *out = at;
    return true;
}

static int error_of(const struct hd_reader *r) {
    return r->at < r->end ? -EFAULT : -EINVAL;
}

/* Checks that function offsets of the index increase. */
static int check_index(const struct hd_memory *memory, const struct hd_compact *c) {
    struct hd_reader r;
    uint32_t before = 0;
    hd_reader_init(&r, memory, c->index, c->end);
    for (uint32_t i = 0; i < c->index_size; i++) {
        uint32_t function = hd_reader_u32(&r);
        hd_reader_skip(&r, INDEX_BYTES - 4);
        if (r.bad) {
            return error_of(&r);
        }
        if (function < before) {
            return -EINVAL;
        }
        before = function;
    }
    return 0;
}

int hd_compact_open(const struct hd_memory *memory, const struct hd_macho_tables *tables,
                    struct hd_compact *out) {
    struct hd_reader r;
    struct hd_compact c = {.text = tables->text, .at = tables->unwind_info};
    if (tables->unwind_info == 0 || tables->unwind_info_bytes == 0) {
        return -ENOENT;
    }
    if (tables->unwind_info_bytes > UINT32_MAX || tables->unwind_info_bytes > UINT64_MAX - c.at) {
        return -EINVAL;
    }
    c.end = c.at + tables->unwind_info_bytes;
    hd_reader_init(&r, memory, c.at, c.end);
    uint32_t version = hd_reader_u32(&r), common = hd_reader_u32(&r);
    c.commons = hd_reader_u32(&r);
    hd_reader_skip(&r, 8); /* personality routines */
    uint32_t index = hd_reader_u32(&r);
    c.index_size = hd_reader_u32(&r);
    if (r.bad) {
        return error_of(&r);
    }
    if (version != VERSION || c.index_size < 2 || c.index_size > HD_COMPACT_INDEX_MAX ||
        !table_at(&c, c.at, common, c.commons, 4, &c.common) ||
        !table_at(&c, c.at, index, c.index_size, INDEX_BYTES, &c.index)) {
        return -EINVAL;
    }
    int rc = check_index(memory, &c);
    if (rc == 0) {
        *out = c;
    }
    return rc;
}

static uint32_t read_u32(const struct hd_memory *memory, uint64_t address, int *rc) {
    uint32_t value = 0;
    if (!hd_memory_read(memory, address, &value, sizeof value)) {
        *rc = -EFAULT;
    }
    return value;
}

/* Finds the index entry of the page that covers `offset`. Returns its number, or a negative errno value. */
static int64_t index_search(const struct hd_memory *memory, const struct hd_compact *c, uint32_t offset) {
    uint32_t first = 0, n = c->index_size - 1; /* the sentinel has no page */
    int rc = 0;
    if (read_u32(memory, c->index, &rc) > offset ||
        read_u32(memory, c->index + (uint64_t)n * INDEX_BYTES, &rc) <= offset) {
        return rc != 0 ? rc : -ENOENT;
    }
    while (n > 1 && rc == 0) {
        uint32_t half = n / 2;
        if (read_u32(memory, c->index + (uint64_t)(first + half) * INDEX_BYTES, &rc) <= offset) {
            first += half;
            n -= half;
        } else {
            n = half;
        }
    }
    return rc != 0 ? rc : (int64_t)first;
}

/* Reads the head of the page of index entry `i`. */
static int page_open(const struct hd_memory *memory, const struct hd_compact *c, uint32_t i,
                     struct page *out) {
    struct hd_reader r;
    struct page p = {.count = 0};
    int rc = 0;
    uint64_t entry = c->index + (uint64_t)i * INDEX_BYTES, at;
    p.first = read_u32(memory, entry, &rc);
    uint32_t page = read_u32(memory, entry + 4, &rc);
    p.end = read_u32(memory, entry + INDEX_BYTES, &rc);
    if (rc != 0 || page == 0) {
        return rc != 0 ? rc : -ENOENT;
    }
    if (!table_at(c, c->at, page, 1, 8, &at)) {
        return -EINVAL;
    }
    hd_reader_init(&r, memory, at, c->end);
    uint32_t kind = hd_reader_u32(&r), entries = hd_reader_u16(&r);
    p.count = hd_reader_u16(&r);
    p.compressed = kind == PAGE_COMPRESSED;
    if (p.compressed) {
        uint32_t encodings = hd_reader_u16(&r);
        p.own = hd_reader_u16(&r);
        if (!table_at(c, at, encodings, p.own, 4, &p.encodings)) {
            return -EINVAL;
        }
    }
    if (r.bad) {
        return error_of(&r);
    }
    if ((kind != PAGE_REGULAR && !p.compressed) ||
        !table_at(c, at, entries, p.count, p.compressed ? 4 : 8, &p.entries)) {
        return -EINVAL;
    }
    *out = p;
    return 0;
}

/* Finds the encoding of number `i`: the shared ones come first, then the page's own. */
static int encoding_at(const struct hd_memory *memory, const struct hd_compact *c, const struct page *p,
                       uint32_t i, uint32_t *out) {
    int rc = 0;
    if (i >= c->commons && i - c->commons >= p->own) {
        return -EINVAL;
    }
    *out = read_u32(
        memory, i < c->commons ? c->common + 4 * (uint64_t)i : p->encodings + 4 * (uint64_t)(i - c->commons),
        &rc);
    return rc;
}

/* Reads all entries of the page. Keeps the last one at or below `offset`, and the start of the next one. */
static int page_search(const struct hd_memory *memory, const struct hd_compact *c, const struct page *p,
                       uint32_t offset, struct hd_compact_entry *out) {
    struct hd_reader r;
    uint32_t before = p->first, found = 0, start = 0, stop = p->end;
    bool any = false;
    hd_reader_init(&r, memory, p->entries, c->end);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t word = hd_reader_u32(&r);
        uint32_t function = p->compressed ? p->first + (word & 0xffffff) : word;
        uint32_t encoding = p->compressed ? word >> 24 : hd_reader_u32(&r);
        if (r.bad) {
            return error_of(&r);
        }
        if (function < before || function > p->end) {
            return -EINVAL;
        }
        before = function;
        if (function <= offset) {
            found = encoding;
            start = function;
            any = true;
        } else if (function < stop) {
            stop = function;
        }
    }
    if (!any) {
        return -ENOENT;
    }
    struct hd_compact_entry e = {.start = c->text + start, .stop = c->text + stop, .encoding = found};
    int rc = p->compressed ? encoding_at(memory, c, p, found, &e.encoding) : 0;
    if (rc == 0) {
        *out = e;
    }
    return rc;
}

int hd_compact_find(const struct hd_memory *memory, const struct hd_compact *c, uint64_t pc,
                    struct hd_compact_entry *out) {
    struct page p;
    uint64_t offset = pc - c->text;
    if (pc < c->text || offset > UINT32_MAX) {
        return -ENOENT;
    }
    int64_t i = index_search(memory, c, (uint32_t)offset);
    if (i < 0) {
        return (int)i;
    }
    int rc = page_open(memory, c, (uint32_t)i, &p);
    return rc != 0 ? rc : page_search(memory, c, &p, (uint32_t)offset, out);
}

int hd_compact_row(const struct hd_memory *memory, uint32_t cpu, const struct hd_compact_entry *entry,
                   struct hd_row *row) {
    if (cpu == HD_MACHO_CPU_X86_64) {
        return hd_compact_row_x86_64(memory, entry, row);
    }
    return cpu == HD_MACHO_CPU_ARM64 ? hd_compact_row_aarch64(entry, row) : -EINVAL;
}
