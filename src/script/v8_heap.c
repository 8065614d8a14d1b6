/* SPDX-License-Identifier: MIT
 *
 * Objects and strings of V8's heap. Worker: may run while a hang is on; no allocation.
 */
#include "script/v8.h"

#define INDIRECTIONS 8u
#define LENGTH_MAX (1u << 29)

bool hd_v8_word(const struct hd_scripts *s, uint64_t object, int32_t offset, uint64_t *out) {
    return hd_v8_is_object(object) &&
           hd_script_read(s, object - 1 + (uint64_t)(int64_t)offset, out, sizeof *out);
}

int32_t hd_v8_type(const struct hd_scripts *s, uint64_t object) {
    uint64_t map;
    uint16_t type;
    if (!hd_v8_word(s, object, 0, &map) || !hd_v8_is_object(map) ||
        !hd_script_read(s, map - 1 + (uint64_t)(int64_t)s->v8.map_instance_type, &type, sizeof type)) {
        return -1;
    }
    return type;
}

/* The string that `object` only refers to, 0: it has characters of its own, or is in two pieces. */
static uint64_t referred(const struct hd_scripts *s, uint64_t object, int32_t kind, uint64_t *skip) {
    const struct hd_v8_offsets *v8 = &s->v8;
    uint64_t next = 0, second, offset, length;
    if (kind == v8->thin) {
        return hd_v8_word(s, object, v8->thin_actual, &next) ? next : 0;
    }
    if (kind == v8->sliced) {
        if (!hd_v8_word(s, object, v8->sliced_parent, &next) ||
            !hd_v8_word(s, object, v8->sliced_offset, &offset) || !hd_v8_is_small(offset)) {
            return 0;
        }
        *skip += offset >> 32;
        return next;
    }
    /* A cons string that was made flat has an empty second part. */
    if (kind == v8->cons && hd_v8_word(s, object, v8->cons_second, &second) &&
        hd_v8_word(s, second, v8->string_length & ~7, &length) && length >> 32 == 0 &&
        hd_v8_word(s, object, v8->cons_first, &next)) {
        return next;
    }
    return 0;
}

bool hd_v8_string(const struct hd_scripts *s, uint64_t object, struct hd_v8_string *out) {
    const struct hd_v8_offsets *v8 = &s->v8;
    uint64_t skip = 0, length = UINT64_MAX, data;
    for (unsigned i = 0; i < INDIRECTIONS; i++) {
        int32_t type = hd_v8_type(s, object), kind = type & v8->representation_mask;
        uint32_t whole;
        if (type < 0 || type >= v8->first_nonstring ||
            !hd_script_read(s, object - 1 + (uint64_t)(int64_t)v8->string_length, &whole, sizeof whole)) {
            return false;
        }
        length = length == UINT64_MAX ? whole : length;
        if (kind == v8->thin || kind == v8->sliced || kind == v8->cons) {
            object = referred(s, object, kind, &skip);
            continue;
        }
        out->width = (type & v8->one_byte) != 0 ? 1 : 2;
        out->address =
            object - 1 + (uint64_t)(int64_t)(out->width == 1 ? v8->string_chars : v8->string_chars16);
        if (kind == v8->external) { /* the word behind the resource is its data's address */
            if (!hd_v8_word(s, object, v8->external_resource + 8, &data)) {
                return false;
            }
            out->address = data;
        }
        out->address += skip * out->width;
        out->length = (uint32_t)length;
        return skip <= whole && length <= whole - skip && whole <= LENGTH_MAX;
    }
    return false;
}
