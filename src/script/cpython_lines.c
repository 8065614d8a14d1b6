/* SPDX-License-Identifier: MIT
 *
 * The line of an instruction, by the three formats of CPython's Objects/lnotab_notes.txt and
 * Objects/locations.md. Worker: may run while a hang is on; no allocation.
 */
#include "base/reader.h"
#include "script/cpython.h"

#define TABLE_BYTES_MAX (256u * 1024u)
#define LINE_MAX (1 << 24)

/* CPython's own variable-length number: six bits a byte, the lowest first. */
static int64_t signed_number(struct hd_reader *r) {
    uint64_t v = 0, byte = 0x40;
    for (unsigned shift = 0; (byte & 0x40) != 0 && shift < 60 && !r->bad; shift += 6) {
        byte = hd_reader_u8(r);
        v |= (byte & 0x3f) << shift;
    }
    return (v & 1) != 0 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* 3.11 on: entries that cover up to eight code units each. */
static int64_t by_locations(struct hd_reader *r, int64_t line, uint64_t unit) {
    for (uint64_t at = 0; !r->bad && r->at < r->end;) {
        uint8_t head = hd_reader_u8(r), form = head >> 3 & 15;
        if ((head & 0x80) == 0) { /* the rest of the entry before: columns */
            continue;
        }
        if (form >= 10 && form <= 12) {
            line += form - 10;
        } else if (form == 13 || form == 14) {
            line += signed_number(r);
        }
        at += (head & 7u) + 1;
        if (unit < at) {
            return form == 15 ? 0 : line;
        }
    }
    return 0;
}

/* 3.10: pairs of bytes, how far the entry reaches and its line's distance; -128: it has no line. */
static int64_t by_ranges(struct hd_reader *r, int64_t line, uint64_t unit) {
    for (uint64_t at = 0; !r->bad && r->at < r->end;) {
        at += hd_reader_u8(r);
        int8_t delta = (int8_t)hd_reader_u8(r);
        line += delta == -128 ? 0 : delta;
        if (unit * PY_UNIT_BYTES < at) {
            return delta == -128 ? 0 : line;
        }
    }
    return 0;
}

/* 3.8 and 3.9: pairs of bytes, where the next line starts and its distance. */
static int64_t by_lnotab(struct hd_reader *r, int64_t line, uint64_t unit) {
    for (uint64_t at = 0; !r->bad && r->at < r->end;) {
        at += hd_reader_u8(r);
        if (at > unit * PY_UNIT_BYTES) {
            break;
        }
        line += (int8_t)hd_reader_u8(r);
    }
    return r->bad ? 0 : line;
}

uint32_t hd_cpython_line(const struct hd_scripts *s, uint64_t table, uint32_t first_line, uint64_t unit) {
    uint8_t lines = s->py.layout.lines;
    uint64_t size = 0;
    struct hd_reader r;
    if (!hd_script_read(s, table + PY_VAR_SIZE, &size, sizeof size) || size > TABLE_BYTES_MAX) {
        return 0;
    }
    hd_reader_init(&r, &s->modules->memory, table + PY_BYTES_DATA, table + PY_BYTES_DATA + size);
    int64_t line = lines == PY_LNOTAB        ? by_lnotab(&r, first_line, unit)
                   : lines == PY_LINE_RANGES ? by_ranges(&r, first_line, unit)
                                             : by_locations(&r, first_line, unit);
    return line <= 0 || line > LINE_MAX ? 0 : (uint32_t)line;
}
