/* SPDX-License-Identifier: MIT
 * Finds the version of CPython in a module, and offsets of members. Up to 3.12 the offsets are a table here.
 * Its sources are the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1:
 * cpython/{code,frameobject,pystate,unicodeobject}.h and internal/pycore_{frame,interp,pystate,runtime}.h.
 * Extension modules are compiled against most of them, and debuggers against the rest, so they are the same
 * in every patch release. From 3.13 on _PyRuntime starts with a table for such tools, _Py_DebugOffsets.
 * Worker; runs during a hang; no allocation.
 */
#include "script/cpython_layout.h"

#include <stddef.h>
#include <string.h>

/* PyFrame_Type's size: 3.10 dropped a field. */
#define FRAME_BYTES_38 368u
#define FRAME_BYTES_310 360u

#define COOKIE UINT64_C(0x7970677562656478) /* "xdebugpy" */
#define WORDS 83u                           /* of _Py_DebugOffsets, as far as they matter */

enum {
    COOKIE_WORD = 0,
    VERSION_WORD = 1,
    FREE_THREADED_WORD = 2
};

static const struct hd_cpython_layout layouts[] = {
    {32,        0,    8,     8,   24,  176, 0,
     32,        24,   104,   0,   40,  104, 112,
     120,       0,    1152,  344, 200, 48,  PY_FRAME_OBJECTS,
     PY_LNOTAB, true, false, 0,   {0}}, /* 3.8 */
    {32,        0,     8,     8,   24,  176, 0,
     32,        24,    104,   0,   40,  104, 112,
     120,       0,     352,   616, 200, 48,  PY_FRAME_OBJECTS,
     PY_LNOTAB, false, false, 0,   {0}}, /* 3.9 */
    {32,
     0,
     8,
     8,
     24,
     176,
     0,
     32,
     24,
     96,
     0,
     40,
     104,
     112,
     120,
     0,
     352,
     616,
     200,
     48,
     PY_FRAME_OBJECTS,
     PY_LINE_RANGES,
     false,
     false,
     0,
     {0}}, /* 3.10 */
    {40,  0,   16,  8,   56,  152, 160,           32,           48,    56,   69, 72, 112, 128,
     136, 184, 360, 648, 200, 48,  PY_ENTRY_FLAG, PY_LOCATIONS, false, true, 8,  {0}}, /* 3.11 */
    {40,
     0,
     72,
     8,
     56,
     136,
     144,
     0,
     8,
     56,
     70,
     68,
     112,
     128,
     136,
     192,
     384,
     112,
     200,
     40,
     PY_ENTRY_FRAME,
     PY_LOCATIONS,
     false,
     true,
     0,
     {0}}, /* 3.12 */
};

#define MEMBERS (offsetof(struct hd_cpython_layout, frames) / sizeof(uint16_t))

/* The index in _Py_DebugOffsets of each member of the layout. The last five must have the values of the enum:
 * a type's offset, size and data of bytes, state and length of str. */
static const uint8_t described[][MEMBERS + 5] = {
    {5,  8,  9,  21, 23, 24, 25, 30, 29, 31, 33, 39, 35,
     37, 38, 43, 14, 10, 72, 70, 45, 65, 66, 68, 69}, /* 3.13 */
    {5,  8,  9,  24, 26, 27, 28, 33, 32, 34, 36, 44, 40,
     42, 43, 48, 15, 11, 82, 80, 51, 75, 76, 78, 79}, /* 3.14 */
};
static const uint8_t constants[] = {PY_TYPE, PY_VAR_SIZE, PY_BYTES_DATA, PY_STR_STATE, PY_STR_LENGTH};

static const struct hd_cpython_objects objects[] = {
    {888, 872, 80, 72, 136, 0, 0, 0, 0, 11},
    {944, 880, 72, 72, 136, 0, 0, 0, 0, 12},
    {7656, 880, 72, 72, 120, 0, 0, 0, 0, 13},
    {7688, 880, 72, 80, 128, 872, 880, 10880, 152, 14},
};

static bool is_sane(const struct hd_cpython_layout *l) {
    return l->next_thread <= PY_THREAD_BYTES - 8 && l->thread_frame <= PY_THREAD_BYTES - 8 &&
           l->thread_self <= PY_THREAD_BYTES - 8 && l->thread_tid <= PY_THREAD_BYTES - 8 &&
           l->frame_code <= PY_FRAME_BYTES - 8 && l->frame_back <= PY_FRAME_BYTES - 8 &&
           l->frame_at <= PY_FRAME_BYTES - 8 && l->frame_owner < PY_FRAME_BYTES && l->code_units >= 8 &&
           l->code_units <= PY_CODE_BYTES && l->code_first_line <= l->code_units - 8 &&
           l->code_file <= l->code_units - 8 && l->code_name <= l->code_units - 8 &&
           l->code_lines <= l->code_units - 8 && l->str_data >= PY_STR_STATE &&
           l->str_data <= PY_STR_DATA_MAX;
}

static bool read_described(const struct hd_modules *modules, uint64_t runtime, uint64_t version,
                           unsigned minor, struct hd_cpython_layout *out) {
    uint64_t words[WORDS];
    uint16_t members[MEMBERS];
    const uint8_t *from = described[minor - 13];
    if (!hd_memory_read(&modules->memory, runtime, words, sizeof words) || words[COOKIE_WORD] != COOKIE ||
        words[VERSION_WORD] != version || words[FREE_THREADED_WORD] != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof constants; i++) {
        if (words[from[MEMBERS + i]] != constants[i]) {
            return false;
        }
    }
    for (size_t i = 0; i < MEMBERS; i++) {
        if (words[from[i]] > UINT16_MAX) {
            return false;
        }
        members[i] = (uint16_t)words[from[i]];
    }
    memset(out, 0, sizeof *out);
    memcpy(out, members, sizeof members);
    out->frames = PY_ENTRY_FRAME;
    out->lines = PY_LOCATIONS;
    return is_sane(out);
}

/* 3.8 to 3.10 export no number: functions that 3.8 and 3.9 brought, and the size of a frame. */
static bool read_old(struct hd_modules *modules, uint32_t module, struct hd_cpython_layout *out) {
    uint64_t frame_type = hd_module_symbol(modules, module, "PyFrame_Type"), bytes = 0;
    if (frame_type == 0 || hd_module_symbol(modules, module, "PyConfig_InitPythonConfig") == 0 ||
        !hd_memory_read(&modules->memory, frame_type + PY_TYPE_BASICSIZE, &bytes, sizeof bytes) ||
        (bytes != FRAME_BYTES_38 && bytes != FRAME_BYTES_310)) {
        return false;
    }
    bool since_39 = hd_module_symbol(modules, module, "PyFrame_GetBack") != 0;
    *out = layouts[bytes == FRAME_BYTES_310 ? 2 : since_39];
    return true;
}

bool hd_cpython_layout_read(struct hd_modules *modules, uint32_t module, struct hd_cpython_layout *out) {
    uint64_t at = hd_module_symbol(modules, module, "Py_Version"), version = 0;
    if (at == 0) {
        return read_old(modules, module, out);
    }
    if (!hd_memory_read(&modules->memory, at, &version, sizeof version)) {
        return false;
    }
    unsigned minor = version >> 16 & 0xff;
    if (version >> 24 != 3 || minor < 11 || minor > 14) {
        return false;
    }
    uint64_t runtime = minor < 13 ? 0 : hd_module_symbol(modules, module, "_PyRuntime");
    if (minor < 13) {
        *out = layouts[minor - 8];
    } else if (runtime == 0 || !read_described(modules, runtime, version, minor, out)) {
        return false;
    }
    out->objects = objects[minor - 11];
    return true;
}
