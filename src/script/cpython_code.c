/* SPDX-License-Identifier: MIT
 *
 * CPython's code objects: a function's name and file, and the line of an instruction, by the location table
 * that CPython's Objects/locations.md describes. Worker: may run while a hang is on; no allocation.
 */
#include <string.h>

#include "base/reader.h"
#include "script/cpython_offsets.h"
#include "script/functions.h"

#define LENGTH_MAX (1 << 24) /* of a string or of code: more is garbage */
#define LINE_MAX (1 << 24)
#define TABLE_BYTES_MAX (256u * 1024u)

/* ---- strings -------------------------------------------------------------------------------- */

/* Keeps a str of the interpreter, for which there is room: its first characters, or the last ones of a file.
 * Where it is kept; UINT32_MAX: it is none. */
static uint32_t keep(struct hd_scripts *s, uint64_t object, unsigned max, bool file) {
    uint8_t head[PY_STR_DATA], data[HD_SCRIPT_FILE_CHARACTERS * 4];
    if (!hd_script_read(s, object, head, sizeof head) || hd_script_u64(head + PY_TYPE) != s->str_type) {
        return UINT32_MAX;
    }
    uint64_t length = hd_script_u64(head + PY_STR_LENGTH);
    unsigned kind = head[PY_STR_STATE] >> 2 & 7;
    bool compact = (head[PY_STR_STATE] & 0x20) != 0, ascii = (head[PY_STR_STATE] & 0x40) != 0;
    if (!compact || length > LENGTH_MAX || (kind != 1 && kind != 2 && kind != 4) || (ascii && kind != 1)) {
        return UINT32_MAX;
    }
    uint32_t n = length < max ? (uint32_t)length : max;
    uint64_t from = object + (ascii ? PY_STR_ASCII_DATA : PY_STR_DATA) + (file ? (length - n) * kind : 0);
    return hd_script_read(s, from, data, (size_t)n * kind) ? hd_functions_keep(s, data, n, kind, file)
                                                           : UINT32_MAX;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* The function of this code object: its place in s->script plus one, made when it is new; 0: there is no
 * room. False: it is garbage. */
static bool function_of(struct hd_scripts *s, uint64_t code, const uint8_t *bytes, uint16_t *out) {
    struct hd_script new = {.code = code,
                            .name_object = hd_script_u64(bytes + PY_CODE_NAME),
                            .file_object = hd_script_u64(bytes + PY_CODE_FILE)};
    memcpy(&new.first_line, bytes + PY_CODE_FIRST_LINE, sizeof new.first_line);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct hd_script *old = &s->script[i];
        if (old->code == code && old->name_object == new.name_object && old->file_object == new.file_object &&
            old->first_line == new.first_line) {
            *out = (uint16_t)(i + 1);
            return true;
        }
    }
    *out = 0;
    if (!hd_functions_room(s)) {
        return true;
    }
    new.file = keep(s, new.file_object, HD_SCRIPT_FILE_CHARACTERS, true);
    new.name =
        new.file == UINT32_MAX ? UINT32_MAX : keep(s, new.name_object, HD_SCRIPT_NAME_CHARACTERS, false);
    if (new.name == UINT32_MAX || new.first_line > LINE_MAX) {
        return false;
    }
    *out = hd_functions_add(s, &new);
    return true;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* CPython's own variable-length number: six bits a byte, the lowest first. */
static int64_t signed_number(struct hd_reader *r) {
    uint64_t v = 0, byte = 0x40;
    for (unsigned shift = 0; (byte & 0x40) != 0 && shift < 60 && !r->bad; shift += 6) {
        byte = hd_reader_u8(r);
        v |= (byte & 0x3f) << shift;
    }
    return (v & 1) != 0 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* The line of the code unit with this index; 0: none is told. */
static uint32_t line_of(const struct hd_scripts *s, const uint8_t *bytes, uint64_t unit) {
    uint64_t table = hd_script_u64(bytes + PY_CODE_LINES), size = 0;
    uint32_t first_line;
    struct hd_reader r;
    memcpy(&first_line, bytes + PY_CODE_FIRST_LINE, sizeof first_line);
    if (!hd_script_read(s, table + PY_VAR_SIZE, &size, sizeof size) || size > TABLE_BYTES_MAX) {
        return 0;
    }
    hd_reader_init(&r, &s->modules->memory, table + PY_BYTES_DATA, table + PY_BYTES_DATA + size);
    int64_t line = first_line;
    for (uint64_t at = 0; !r.bad && r.at < r.end;) {
        uint8_t head = hd_reader_u8(&r), form = head >> 3 & 15;
        if ((head & 0x80) == 0) { /* the rest of the entry before: columns */
            continue;
        }
        if (form >= 10 && form <= 12) {
            line += form - 10;
        } else if (form == 13 || form == 14) {
            line += signed_number(&r);
        }
        at += (head & 7u) + 1;
        if (unit < at) {
            return form == 15 || line <= 0 || line > LINE_MAX ? 0 : (uint32_t)line;
        }
    }
    return 0;
}

bool hd_cpython_place(struct hd_scripts *s, uint64_t code, uint64_t instr, struct hd_script_place *out) {
    struct hd_script_place *known = &s->place[(instr * UINT64_C(0x9e3779b97f4a7c15) >> 32) % HD_SCRIPT_CACHE];
    if (known->instr == instr && known->code == code && known->script != 0) {
        *out = *known;
        return true;
    }
    uint8_t bytes[PY_CODE_BYTES];
    if (!hd_script_read(s, code, bytes, sizeof bytes) || hd_script_u64(bytes + PY_TYPE) != s->code_type) {
        return false;
    }
    uint64_t units = hd_script_u64(bytes + PY_VAR_SIZE), begin = code + PY_CODE_UNITS;
    /* A frame that was just made is one unit before its first. */
    if (units == 0 || units > LENGTH_MAX || instr + PY_UNIT_BYTES < begin ||
        instr >= begin + units * PY_UNIT_BYTES || (instr - begin) % PY_UNIT_BYTES != 0) {
        return false;
    }
    *out = (struct hd_script_place){.instr = instr, .code = code};
    if (!function_of(s, code, bytes, &out->script)) {
        return false;
    }
    out->line = line_of(s, bytes, instr < begin ? 0 : (instr - begin) / PY_UNIT_BYTES);
    if (out->script != 0) {
        *known = *out;
    }
    return true;
}
