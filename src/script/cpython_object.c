/* SPDX-License-Identifier: MIT
 *
 * Worker: may run while a hang is on; no allocation.
 */
#include "script/cpython_object.h"

#include <string.h>

#include "script/functions.h"

#define ENTRIES_MAX 65536u
#define NAME_MAX 31u /* of a key that is searched */
#define BASES_MAX 6u

enum {
    TYPE_NAME = 24,
    TYPE_BASE = 256,
    KEYS_INDEX_BYTES = 9, /* as a power of two */
    KEYS_KIND = 10,
    KEYS_COUNT = 24,
    KEYS_BYTES = 32, /* then the index, then the entries */
    KINDS = 3,
    DICT_KEYS = 32,
    DICT_VALUES = 40, /* 0: they are in the entries */
    MODULE_DICT = 16,
    ENTRY_BYTES = 24,
    BATCH = 32 /* entries */
};

/* ---- types ---------------------------------------------------------------------------------- */

static void type_name(const struct hd_scripts *s, uint64_t type, char out[PY_TYPE_NAME_BYTES]) {
    uint64_t at = hd_cpython_word(s, type + TYPE_NAME);
    out[0] = '\0';
    for (size_t n = PY_TYPE_NAME_BYTES; n >= 8; n -= 8) { /* the page may end */
        if (at != 0 && hd_script_read(s, at, out, n)) {
            out[n - 1] = '\0';
            return;
        }
        out[0] = '\0';
    }
}

void hd_object_type(const struct hd_scripts *s, uint64_t object, char out[PY_TYPE_NAME_BYTES]) {
    type_name(s, object != 0 ? hd_cpython_word(s, object + PY_TYPE) : 0, out);
}

bool hd_object_is(const struct hd_scripts *s, uint64_t object, const char *type) {
    char name[PY_TYPE_NAME_BYTES];
    uint64_t at = object != 0 ? hd_cpython_word(s, object + PY_TYPE) : 0;
    for (unsigned i = 0; at != 0 && i < BASES_MAX; i++) {
        type_name(s, at, name);
        if (strcmp(name, type) == 0) {
            return true;
        }
        at = hd_cpython_word(s, at + TYPE_BASE);
    }
    return false;
}

/* ---- dicts ---------------------------------------------------------------------------------- */

struct keys {
    uint64_t entries;
    uint32_t count, bytes; /* bytes of an entry: of 24 the first 8 are a hash */
};

static bool read_keys(const struct hd_scripts *s, uint64_t address, struct keys *out) {
    uint8_t head[KEYS_BYTES];
    if (address == 0 || !hd_script_read(s, address, head, sizeof head) || head[KEYS_INDEX_BYTES] > 24 ||
        head[KEYS_KIND] >= KINDS) {
        return false;
    }
    uint64_t count = hd_script_u64(head + KEYS_COUNT);
    *out = (struct keys){.entries = address + KEYS_BYTES + (UINT64_C(1) << head[KEYS_INDEX_BYTES]),
                         .count = count < ENTRIES_MAX ? (uint32_t)count : ENTRIES_MAX,
                         .bytes = head[KEYS_KIND] == 0 ? ENTRY_BYTES : 16};
    return true;
}

static bool is_named(const struct hd_scripts *s, uint64_t key, const char *name, size_t length) {
    uint8_t bytes[PY_STR_DATA_MAX + NAME_MAX];
    return key != 0 && hd_script_read(s, key, bytes, s->py.layout.str_data + length) &&
           hd_script_u64(bytes + PY_TYPE) == s->py.str_type &&
           hd_script_u64(bytes + PY_STR_LENGTH) == length &&
           memcmp(bytes + s->py.layout.str_data, name, length) == 0;
}

/* The index of the entry with this key, and its value. -1: none. */
static int32_t index_of(const struct hd_scripts *s, const struct keys *k, const char *name, uint64_t *value) {
    uint8_t batch[BATCH * ENTRY_BYTES];
    size_t length = strlen(name);
    for (uint32_t from = 0; from < k->count; from += BATCH) {
        uint32_t n = k->count - from < BATCH ? k->count - from : BATCH;
        if (!hd_script_read(s, k->entries + (uint64_t)from * k->bytes, batch, (size_t)n * k->bytes)) {
            return -1;
        }
        for (uint32_t i = 0; i < n; i++) {
            const uint8_t *entry = batch + (size_t)i * k->bytes + (k->bytes == ENTRY_BYTES ? 8 : 0);
            if (is_named(s, hd_script_u64(entry), name, length)) {
                *value = hd_script_u64(entry + 8);
                return (int32_t)(from + i);
            }
        }
    }
    return -1;
}

/* Where the values of a split dict start. */
static unsigned values_head(const struct hd_scripts *s) {
    return s->py.layout.objects.minor < 13 ? 0 : 8;
}

uint64_t hd_object_item(const struct hd_scripts *s, uint64_t dict, const char *name) {
    struct keys keys;
    uint64_t value = 0, values;
    if (dict == 0 || !read_keys(s, hd_cpython_word(s, dict + DICT_KEYS), &keys)) {
        return 0;
    }
    int32_t i = index_of(s, &keys, name, &value);
    values = hd_cpython_word(s, dict + DICT_VALUES);
    return i >= 0 && values != 0 ? hd_cpython_word(s, values + values_head(s) + 8 * (uint64_t)i) : value;
}

uint64_t hd_object_next_value(const struct hd_scripts *s, uint64_t dict, uint32_t *at) {
    struct keys keys;
    if (dict == 0 || !read_keys(s, hd_cpython_word(s, dict + DICT_KEYS), &keys)) {
        return 0;
    }
    while (*at < keys.count) {
        uint64_t entry = keys.entries + (uint64_t)(*at)++ * keys.bytes;
        uint64_t value = hd_cpython_word(s, entry + keys.bytes - 8);
        if (value != 0) {
            return value;
        }
    }
    return 0;
}

/* An instance's values are before it (3.11), or the word before it is tagged (3.12), or they follow it. Once
 * its __dict__ was read, they may be in that. */
uint64_t hd_object_attribute(const struct hd_scripts *s, uint64_t object, const char *name) {
    const struct hd_cpython_objects *o = &s->py.layout.objects;
    uint64_t type = object != 0 ? hd_cpython_word(s, object + PY_TYPE) : 0, values = 0, dict = 0, none;
    struct keys keys;
    if (type == 0) {
        return 0;
    }
    dict = hd_cpython_word(s, object - 24);
    if (o->minor == 11) {
        values = hd_cpython_word(s, object - 32);
    } else if (o->minor == 12) {
        values = (dict & 1) != 0 ? dict + 1 : 0;
    } else {
        uint64_t size = hd_cpython_word(s, type + PY_TYPE_BASICSIZE),
                 head = hd_cpython_word(s, object + size);
        values = size < 4096 && (head >> 24 & 255) == 1 ? object + size + 8 : 0; /* its last byte: valid */
    }
    if (values == 0) {
        return (dict & 7) == 0 ? hd_object_item(s, dict, name) : 0;
    }
    int32_t i =
        read_keys(s, hd_cpython_word(s, type + o->type_keys), &keys) ? index_of(s, &keys, name, &none) : -1;
    return i >= 0 ? hd_cpython_word(s, values + 8 * (uint64_t)i) : 0;
}

uint64_t hd_object_global(const struct hd_scripts *s, const char *module, const char *name) {
    uint64_t interpreter = hd_cpython_main_interpreter(s);
    if (interpreter == 0 || s->py.layout.objects.modules == 0) {
        return 0;
    }
    uint64_t modules = hd_cpython_word(s, interpreter + s->py.layout.objects.modules);
    uint64_t found = hd_object_item(s, modules, module);
    return found != 0 ? hd_object_item(s, hd_cpython_word(s, found + MODULE_DICT), name) : 0;
}

/* ---- values --------------------------------------------------------------------------------- */

bool hd_object_text(const struct hd_scripts *s, uint64_t object, char *out, size_t size) {
    uint8_t data[HD_SCRIPT_FILE_CHARACTERS * 4];
    unsigned width;
    uint32_t n =
        (uint32_t)(size - 1) < HD_SCRIPT_FILE_CHARACTERS ? (uint32_t)(size - 1) : HD_SCRIPT_FILE_CHARACTERS;
    if (object == 0 || !hd_cpython_str(s, object, &n, false, data, &width)) {
        return false;
    }
    hd_functions_utf8(data, n, width, out, size);
    return true;
}

bool hd_object_int(const struct hd_scripts *s, uint64_t object, uint64_t *out) {
    uint8_t bytes[32];
    uint32_t digit[2];
    if (object == 0 || !hd_object_is(s, object, "int") || !hd_script_read(s, object, bytes, sizeof bytes)) {
        return false;
    }
    uint64_t head = hd_script_u64(bytes + 16), digits = s->py.layout.objects.minor < 12 ? head : head >> 3;
    bool negative = s->py.layout.objects.minor >= 12 && (head & 2) != 0;
    memcpy(digit, bytes + 24, sizeof digit);
    *out = digits == 2 ? (uint64_t)digit[1] << 30 | digit[0] : digits == 1 ? digit[0] : 0;
    return digits <= 2 && !negative;
}
