/* SPDX-License-Identifier: MIT
 *
 * Reads .eh_frame_hdr, CIE and FDE records. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/eh_frame.h"

#include <errno.h>
#include <string.h>

#include "base/reader.h"

#define ENTRY_BYTES 8u    /* an entry of the sorted table: two 32-bit offsets */
#define CHUNK_ENTRIES 64u /* so few entries are read at once */
#define GUESSES 4u        /* the number of guesses, after which the search halves the table */
#define TABLE_ENCODING (HD_PE_DATAREL | HD_PE_SDATA4)
#define RECORD_BYTES_MAX (16u << 20) /* a larger record is malformed */

/* Reads the length of a record. Sets *id_at: the address of the CIE id; *end: the record's end. False: the
 * section ends here, or the record is malformed (r->bad). */
static bool record_bounds(struct hd_reader *r, uint64_t limit, uint64_t *id_at, uint64_t *end) {
    uint64_t length = hd_reader_u32(r);
    if (length == UINT32_MAX) {
        length = hd_reader_u64(r);
    }
    if (r->bad || length == 0) {
        return false;
    }
    if (length < 4 || length > RECORD_BYTES_MAX || r->at > limit || length > limit - r->at) {
        r->bad = true;
        return false;
    }
    *id_at = r->at;
    *end = r->at + length;
    return true;
}

/* Reads augmentation data, letter by letter. Stops at an unknown letter: the CIE gives the length of all the
 * data, and later letters do not change how a frame is unwound. */
static void cie_augmentation(struct hd_reader *r, const char *letters, struct hd_cie *cie) {
    for (const char *p = letters + 1; *p != 0; p++) {
        if (*p == 'R') {
            cie->fde_encoding = hd_reader_u8(r);
        } else if (*p == 'L') {
            (void)hd_reader_u8(r);
        } else if (*p == 'S') {
            cie->signal_frame = true;
        } else if (*p == 'P') {
            /* Skips the personality routine's pointer. An indirect pointer is not followed: its page may be
             * absent. */
            uint8_t enc = hd_reader_u8(r);
            struct hd_pe_bases any = {.text = 1, .data = 1, .func = 1};
            if (enc == HD_PE_OMIT) {
                continue;
            }
            (void)hd_reader_pointer(r, enc == HD_PE_ALIGNED ? enc : (uint8_t)(enc & 0x7f), &any);
        } else if (*p != 'B' && *p != 'G') { /* arm64: B key, tagged stack; both without data */
            return;
        }
    }
}

static int cie_parse(const struct hd_memory *memory, uint64_t address, uint64_t limit, struct hd_cie *out) {
    struct hd_reader r;
    struct hd_cie cie = {.address = address, .fde_encoding = HD_PE_ABSPTR};
    uint64_t id_at, end;
    hd_reader_init(&r, memory, address, limit);
    if (!record_bounds(&r, limit, &id_at, &end) || hd_reader_u32(&r) != 0) {
        return -EINVAL;
    }
    r.end = end;
    uint8_t version = hd_reader_u8(&r);
    char letters[16];
    size_t n = 0;
    while ((letters[n] = (char)hd_reader_u8(&r)) != 0) {
        if (++n == sizeof letters) {
            return -EINVAL;
        }
    }
    if (letters[0] == 'e' && letters[1] == 'h') { /* gcc 2: a pointer to an exception table */
        hd_reader_skip(&r, 8);
    }
    if (version == 4 &&
        (hd_reader_u8(&r) != 8 || hd_reader_u8(&r) != 0)) { /* size of an address and of a segment selector */
        return -EINVAL;
    }
    cie.code_align = hd_reader_uleb(&r);
    cie.data_align = hd_reader_sleb(&r);
    uint64_t column = version == 1 ? hd_reader_u8(&r) : hd_reader_uleb(&r);
    cie.return_column = column > UINT32_MAX ? UINT32_MAX : (uint32_t)column;
    if (letters[0] == 'z') {
        uint64_t bytes = hd_reader_uleb(&r);
        if (r.bad || bytes > r.end - r.at) {
            return -EINVAL;
        }
        uint64_t after = r.at + bytes;
        cie.sized_augmentation = true;
        r.end = after;
        cie_augmentation(&r, letters, &cie);
        r.end = end;
        hd_reader_seek(&r, after);
    } else if (letters[0] != 0 && !(letters[0] == 'e' && letters[1] == 'h')) {
        return -EINVAL; /* data of unknown length follows */
    }
    if (r.bad || (version != 1 && version != 3 && version != 4)) {
        return -EINVAL;
    }
    cie.program = r.at;
    cie.end = end;
    *out = cie;
    return 0;
}

/* Reads the record at r->at. Returns 0: an FDE; -EAGAIN: a CIE; -ENOENT: the section ends here; -EINVAL:
 * malformed. For an FDE or a CIE, *next is set to the end of the record. `known`: the CIE of the last FDE, so
 * that a scan does not read the same CIE for every FDE; may be NULL. */
static int record_parse(struct hd_reader *r, uint64_t limit, const struct hd_cie *known, uint64_t *next,
                        struct hd_fde *fde) {
    uint64_t id_at, end;
    fde->address = r->at;
    if (!record_bounds(r, limit, &id_at, &end)) {
        return r->bad ? -EINVAL : -ENOENT;
    }
    *next = end;
    uint32_t back = hd_reader_u32(r);
    if (r->bad) {
        return -EINVAL;
    }
    if (back == 0) {
        return -EAGAIN;
    }
    if (back > id_at) {
        return -EINVAL;
    }
    if (known != NULL && known->program != 0 && known->address == id_at - back) {
        fde->cie = *known;
    } else if (cie_parse(r->memory, id_at - back, limit, &fde->cie) != 0) {
        return -EINVAL;
    }
    static const struct hd_pe_bases none;
    uint64_t whole = r->end;
    r->end = end;
    fde->start = hd_reader_pointer(r, fde->cie.fde_encoding, &none);
    uint64_t length = hd_reader_pointer(r, fde->cie.fde_encoding & 0x0f, &none);
    if (fde->cie.sized_augmentation) {
        hd_reader_skip(r, hd_reader_uleb(r));
    }
    fde->program = r->at;
    fde->end = end;
    r->end = whole;
    if (r->bad || length > UINT64_MAX - fde->start) {
        return -EINVAL;
    }
    fde->stop = fde->start + length;
    return 0;
}

int hd_eh_frame_next(const struct hd_memory *memory, uint64_t *at, uint64_t limit, struct hd_fde *out) {
    struct hd_reader r;
    struct hd_fde fde;
    uint64_t next = 0;
    for (;;) {
        hd_reader_init(&r, memory, *at, limit);
        int rc = record_parse(&r, limit, &out->cie, &next, &fde);
        if (rc != 0 && rc != -EAGAIN) {
            return rc;
        }
        *at = next;
        if (rc == 0) {
            *out = fde;
            return 0;
        }
    }
}

int hd_eh_table_open(const struct hd_memory *memory, uint64_t eh_frame_hdr, uint64_t limit,
                     struct hd_eh_table *out) {
    struct hd_reader r;
    if (eh_frame_hdr == 0) {
        return -ENOENT;
    }
    hd_reader_init(&r, memory, eh_frame_hdr, limit);
    struct hd_pe_bases bases = {.data = eh_frame_hdr};
    uint8_t version = hd_reader_u8(&r);
    uint8_t frames_enc = hd_reader_u8(&r), count_enc = hd_reader_u8(&r), table_enc = hd_reader_u8(&r);
    if (r.bad) {
        return -EFAULT;
    }
    if (version != 1) {
        return -EINVAL;
    }
    struct hd_eh_table t = {.hdr = eh_frame_hdr, .limit = limit};
    t.frames = hd_reader_pointer(&r, frames_enc, &bases);
    t.count = hd_reader_pointer(&r, count_enc, &bases);
    if (!r.bad && table_enc == TABLE_ENCODING && count_enc != HD_PE_OMIT) {
        t.entries = r.at;
        if (t.count > (limit - r.at) / ENTRY_BYTES) {
            return -EINVAL;
        }
    }
    if (r.bad) {
        return -EINVAL;
    }
    *out = t;
    return 0;
}

static bool read_entries(const struct hd_memory *memory, const struct hd_eh_table *t, uint64_t index,
                         int32_t *out, uint64_t n) {
    return hd_memory_read(memory, t->entries + index * ENTRY_BYTES, out, n * ENTRY_BYTES);
}

/* Guesses the index of `want` among n entries, as if the entries lay evenly between `low` and `high`. */
static uint64_t guess(int64_t low, int64_t high, int64_t want, uint64_t n) {
    if (want <= low || high <= low) {
        return 0;
    }
    uint64_t at = (uint64_t)((double)n * (double)(want - low) / (double)(high - low));
    return at < n ? at : n - 1;
}

/* Narrows the entries [*lo, *lo + *n) to at most CHUNK_ENTRIES, one of which covers `want`. A read of live
 * memory is a system call. Functions lie evenly enough that guesses need a third of the reads that halving
 * needs. After GUESSES guesses the search halves, for tables that are uneven. False: the table cannot be
 * read. */
static bool narrow(const struct hd_memory *memory, const struct hd_eh_table *t, int64_t want, uint64_t *lo,
                   uint64_t *n) {
    int32_t first[2], last[2];
    if (*n <= CHUNK_ENTRIES) {
        return true;
    }
    if (!read_entries(memory, t, *lo, first, 1) || !read_entries(memory, t, *lo + *n - 1, last, 1)) {
        return false;
    }
    int64_t low = first[0], high = last[0];
    for (unsigned step = 0; *n > CHUNK_ENTRIES; step++) {
        uint64_t at = step < GUESSES ? guess(low, high, want, *n) : *n / 2;
        uint64_t before = at > CHUNK_ENTRIES / 2 ? at - CHUNK_ENTRIES / 2 : 0,
                 behind = before + CHUNK_ENTRIES - 1;
        int32_t edge[2][2];
        behind = behind < *n ? behind : *n - 1;
        if (!read_entries(memory, t, *lo + before, edge[0], 1) ||
            !read_entries(memory, t, *lo + behind, edge[1], 1)) {
            return false;
        }
        if (edge[0][0] > want) {
            *n = before > 0 ? before : 1;
            high = edge[0][0];
        } else if (edge[1][0] <= want) {
            *lo += behind;
            *n -= behind;
            low = edge[1][0];
        } else {
            *lo += before;
            *n = behind - before;
        }
    }
    return true;
}

/* *fde: the address of the FDE with the greatest start at or below pc. Returns 0; -ENOENT: there is none;
 * -EFAULT: the table cannot be read. */
static int table_search(const struct hd_memory *memory, const struct hd_eh_table *t, uint64_t pc,
                        uint64_t *fde) {
    int32_t entry[CHUNK_ENTRIES * 2];
    uint64_t lo = 0, n = t->count;
    int64_t want = (int64_t)(pc - t->hdr);
    if (!narrow(memory, t, want, &lo, &n)) {
        return -EFAULT;
    }
    if (n == 0) {
        return -ENOENT;
    }
    if (!read_entries(memory, t, lo, entry, n)) {
        return -EFAULT;
    }
    uint64_t first = 0;
    while (n > 1) {
        uint64_t half = n / 2;
        if (entry[(first + half) * 2] <= want) {
            first += half;
            n -= half;
        } else {
            n = half;
        }
    }
    if (entry[first * 2] > want) {
        return -ENOENT;
    }
    *fde = t->hdr + (uint64_t)(int64_t)entry[first * 2 + 1];
    return 0;
}

int hd_eh_table_find(const struct hd_memory *memory, const struct hd_eh_table *t, uint64_t pc,
                     struct hd_fde *out) {
    struct hd_reader r;
    struct hd_fde fde;
    uint64_t at, next;
    if (t->entries == 0) {
        return -ENOENT;
    }
    int rc = table_search(memory, t, pc, &at);
    if (rc != 0) {
        return rc;
    }
    hd_reader_init(&r, memory, at, t->limit);
    if (record_parse(&r, t->limit, NULL, &next, &fde) != 0) {
        return -EINVAL;
    }
    if (pc < fde.start || pc >= fde.stop) {
        return -ENOENT;
    }
    *out = fde;
    return 0;
}
