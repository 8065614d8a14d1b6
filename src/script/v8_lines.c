/* SPDX-License-Identifier: MIT
 *
 * Finds the place of a JavaScript function in a script, and the line of a bytecode instruction.
 * ScopeInfo and the table of source positions are as in V8's objects/scope-info.tq and
 * codegen/source-position-table.cc. Worker; runs during a hang; no allocation.
 */
#include "base/reader.h"
#include "script/v8.h"

#define SCOPE_WORDS 48u
#define LOCALS_IN_LINE 75 /* V8 keeps the names of more locals in a table of their own */
#define LOCALS_MAX 4096
#define POSITIONS_EARLY 5 /* from V8 13 on the positions stand before the locals */
#define TABLE_BYTES_MAX 65536u
#define SOURCE_MAX (4u << 20)
#define CHUNK 512u

bool hd_v8_range(const struct hd_scripts *s, uint64_t scope, uint32_t *start, uint32_t *end) {
    const struct hd_v8_offsets *v8 = &s->v8;
    uint64_t locals, words[SCOPE_WORDS];
    if (hd_v8_type(s, scope) != v8->type_scope || !hd_v8_word(s, scope, 8 + 8 * v8->scope_locals, &locals) ||
        !hd_v8_is_small(locals) || hd_v8_small(locals) < 0 || hd_v8_small(locals) > LOCALS_MAX) {
        return false;
    }
    int32_t n = hd_v8_small(locals), skip = n > LOCALS_IN_LINE ? n + 1 : 2 * n;
    bool early = v8->scope_first >= POSITIONS_EARLY;
    uint64_t at = scope - 1 + 8 + 8 * (uint64_t)(early ? v8->scope_first - 2 : v8->scope_first + skip);
    uint32_t count = 0;
    for (; count < (early ? 2u : 9u) && hd_script_read(s, at + 8 * (uint64_t)count, &words[count], 8);
         count++) {
    }
    /* The name's slot may stand before: of three small integers the last two are the positions. */
    for (uint32_t i = 0; i + 1 < count; i++) {
        bool pair = hd_v8_is_small(words[i]) && hd_v8_is_small(words[i + 1]);
        bool later = i + 2 < count && pair && hd_v8_is_small(words[i + 2]) && words[i + 1] < words[i + 2];
        if (pair && !later && hd_v8_small(words[i]) >= 0 && words[i] < words[i + 1]) {
            *start = (uint32_t)(words[i] >> 32);
            *end = (uint32_t)(words[i + 1] >> 32);
            return true;
        }
    }
    return false;
}

/* V8's own variable-length number: seven bits a byte, the lowest first, the sign in the lowest bit. */
static int64_t signed_number(struct hd_reader *r) {
    uint64_t v = 0, byte = 0x80;
    for (unsigned shift = 0; (byte & 0x80) != 0 && shift < 64 && !r->bad; shift += 7) {
        byte = hd_reader_u8(r);
        v |= (byte & 0x7f) << shift;
    }
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* The position of `offset` by the table in these bytes; 0: this is no such table. */
static uint32_t position_in(const struct hd_scripts *s, uint64_t table, uint64_t bytes, uint64_t code_bytes,
                            uint64_t offset, const uint32_t range[2]) {
    struct hd_reader r;
    int64_t at = 0, source = 0;
    uint32_t found = 0;
    hd_reader_init(&r, &s->modules->memory, table, table + bytes);
    while (!r.bad && r.at < r.end) {
        int64_t step = signed_number(&r);
        at += step >= 0 ? step : -(step + 1);
        source += signed_number(&r);
        int64_t position = (source >> 1 & 0x3fffffff) - 1;
        if (at < 0 || (uint64_t)at > code_bytes || position < range[0] || position > range[1]) {
            return 0;
        }
        found = (uint64_t)at <= offset ? (uint32_t)position : found;
    }
    return r.bad ? 0 : found;
}

uint32_t hd_v8_position(const struct hd_scripts *s, uint64_t bytecode, uint64_t offset, uint32_t start,
                        uint32_t end) {
    const struct hd_v8_offsets *v8 = &s->v8;
    const uint32_t range[2] = {start, end};
    uint64_t code_bytes, field, bytes;
    if (hd_v8_type(s, bytecode) != v8->type_bytecode ||
        !hd_v8_word(s, bytecode, v8->array_length, &code_bytes) || !hd_v8_is_small(code_bytes) ||
        offset > code_bytes >> 32) {
        return 0;
    }
    /* Which field has the table differs between versions: it is the one that reads as such. */
    for (int32_t at = v8->array_length + 8; at + 8 <= v8->bytecode_data; at += 8) {
        int32_t type = hd_v8_word(s, bytecode, at, &field) ? hd_v8_type(s, field) : -1;
        if (type < 0 || (type != v8->type_bytes && type != v8->type_trusted_bytes) ||
            !hd_v8_word(s, field, v8->array_length, &bytes) || !hd_v8_is_small(bytes) ||
            bytes >> 32 > TABLE_BYTES_MAX || bytes == 0) {
            continue;
        }
        uint32_t found = position_in(s, field - 1 + (uint64_t)(int64_t)v8->array_data, bytes >> 32,
                                     code_bytes >> 32, offset, range);
        if (found != 0) {
            return found;
        }
    }
    return 0;
}

uint32_t hd_v8_line(const struct hd_scripts *s, uint64_t source, uint32_t position) {
    struct hd_v8_string text;
    uint8_t chunk[CHUNK];
    uint32_t line = 1;
    if (!hd_v8_string(s, source, &text) || position > text.length || position > SOURCE_MAX) {
        return 0;
    }
    for (uint32_t at = 0; at < position;) {
        uint32_t n = CHUNK / text.width < position - at ? CHUNK / text.width : position - at;
        if (!hd_script_read(s, text.address + (uint64_t)at * text.width, chunk, (size_t)n * text.width)) {
            return 0;
        }
        for (uint32_t i = 0; i < n; i++) {
            line += chunk[i * text.width] == '\n' && (text.width == 1 || chunk[i * text.width + 1] == 0);
        }
        at += n;
    }
    return line;
}
