/* SPDX-License-Identifier: MIT
 *
 * CPython's code objects: a function's name and file. Worker: may run while a hang is on; no allocation.
 */
#include <string.h>

#include "script/cpython.h"
#include "script/functions.h"

#define LENGTH_MAX (1 << 24) /* of a string or of code: more is garbage */
#define LINE_MAX (1 << 24)

/* ---- strings -------------------------------------------------------------------------------- */

bool hd_cpython_str(const struct hd_scripts *s, uint64_t object, uint32_t *count, bool end, uint8_t *data,
                    unsigned *width) {
    uint8_t head[PY_STR_STATE + 8];
    unsigned ascii_data = s->py.layout.str_data;
    if (!hd_script_read(s, object, head, sizeof head) || hd_script_u64(head + PY_TYPE) != s->py.str_type) {
        return false;
    }
    uint64_t length = hd_script_u64(head + PY_STR_LENGTH);
    unsigned kind = head[PY_STR_STATE] >> 2 & 7;
    bool compact = (head[PY_STR_STATE] & 0x20) != 0, ascii = (head[PY_STR_STATE] & 0x40) != 0;
    if (!compact || length > LENGTH_MAX || (kind != 1 && kind != 2 && kind != 4) || (ascii && kind != 1)) {
        return false;
    }
    uint32_t n = length < *count ? (uint32_t)length : *count;
    /* Up to 3.11 a field more stands before characters that are not ASCII. */
    unsigned wide = ascii ? 0 : ascii_data == PY_STR_DATA_MAX ? PY_STR_WIDE_MAX : PY_STR_WIDE_MAX - 8;
    uint64_t from = object + ascii_data + wide + (end ? (length - n) * kind : 0);
    *count = n;
    *width = kind;
    return hd_script_read(s, from, data, (size_t)n * kind);
}

/* Copies the first characters of a str of the interpreter, or the last ones of a file name. The caller has
 * checked the free space. Returns the offset of the copy; UINT32_MAX: not a str. */
static uint32_t keep(struct hd_scripts *s, uint64_t object, uint32_t max, bool file) {
    uint8_t data[HD_SCRIPT_FILE_CHARACTERS * 4];
    unsigned width;
    return hd_cpython_str(s, object, &max, file, data, &width) ? hd_functions_keep(s, data, max, width, file)
                                                               : UINT32_MAX;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* The function of this code object: its place in s->script plus one, made when it is new; 0: there is no
 * room. False: it is garbage. */
static bool function_of(struct hd_scripts *s, uint64_t code, const uint8_t *bytes, uint16_t *out) {
    const struct hd_cpython_layout *l = &s->py.layout;
    struct hd_script new = {.code = code,
                            .name_object = hd_script_u64(bytes + l->code_name),
                            .file_object = hd_script_u64(bytes + l->code_file)};
    memcpy(&new.first_line, bytes + l->code_first_line, sizeof new.first_line);
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

bool hd_cpython_place(struct hd_scripts *s, uint64_t code, int64_t unit, struct hd_script_place *out) {
    const struct hd_cpython_layout *l = &s->py.layout;
    uint64_t instr = code + (uint64_t)unit + 1;
    struct hd_script_place *known = &s->place[(instr * UINT64_C(0x9e3779b97f4a7c15) >> 32) % HD_SCRIPT_CACHE];
    if (known->instr == instr && known->code == code && known->script != 0) {
        *out = *known;
        return true;
    }
    uint8_t bytes[PY_CODE_BYTES];
    if (!hd_script_read(s, code, bytes, l->code_units != 0 ? l->code_units : PY_CODE_BYTES / 2) ||
        hd_script_u64(bytes + PY_TYPE) != s->py.code_type) {
        return false;
    }
    uint64_t units = l->code_units != 0 ? hd_script_u64(bytes + PY_VAR_SIZE) : LENGTH_MAX;
    if (units > LENGTH_MAX || unit < -1 || unit >= (int64_t)units) {
        return false;
    }
    *out = (struct hd_script_place){.instr = instr, .code = code};
    if (!function_of(s, code, bytes, &out->script)) {
        return false;
    }
    uint32_t first_line;
    memcpy(&first_line, bytes + l->code_first_line, sizeof first_line);
    out->line =
        hd_cpython_line(s, hd_script_u64(bytes + l->code_lines), first_line, unit < 0 ? 0 : (uint64_t)unit);
    if (out->script != 0) {
        *known = *out;
    }
    return true;
}
