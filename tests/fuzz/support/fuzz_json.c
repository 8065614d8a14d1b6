/* SPDX-License-Identifier: MIT */
#include "fuzz_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_OF_COPY 1000000
#define DUMP_FLAGS (JSON_COMPACT | JSON_ENCODE_ANY)

struct room {
    size_t values, bytes;
    long copy; /* the innermost one's number */
    bool full;
};

static json_t *expand(struct room *r, const json_t *value);

static void take(struct room *r, size_t values, size_t bytes) {
    r->full |= values > r->values || bytes > r->bytes;
    r->values -= values < r->values ? values : r->values;
    r->bytes -= bytes < r->bytes ? bytes : r->bytes;
}

/* "f#" of copy 7 is "f7". */
static json_t *text_of_copy(struct room *r, const char *text) {
    const char *mark = strchr(text, '#');
    take(r, 1, strlen(text) + 8);
    return mark == NULL ? json_string(text)
                        : json_sprintf("%.*s%ld%s", (int)(mark - text), text, r->copy, mark + 1);
}

static json_t *expand_text(struct room *r, const char *text) {
    char *end = NULL;
    long count = text[0] == '*' ? strtol(text + 1, &end, 10) : 0;
    if (count <= 0 || *end != ',' || end[1] == '\0') {
        return text_of_copy(r, text);
    }
    size_t each = strlen(end + 1);
    take(r, 1, (size_t)count * each);
    if (r->full) {
        return json_null();
    }
    char *repeated = malloc((size_t)count * each);
    for (long i = 0; i < count; i++) {
        memcpy(repeated + (size_t)i * each, end + 1, each);
    }
    json_t *out = json_stringn(repeated, (size_t)count * each);
    free(repeated);
    return out;
}

static bool is_repeat(const json_t *item) {
    const char *mark = json_string_value(json_array_get(item, 0));
    return json_array_size(item) == 3 && mark != NULL && strcmp(mark, "*") == 0 &&
           json_is_integer(json_array_get(item, 1));
}

static void expand_item(struct room *r, json_t *out, const json_t *item) {
    if (!is_repeat(item)) {
        json_array_append_new(out, expand(r, item));
        return;
    }
    json_int_t count = json_integer_value(json_array_get(item, 1));
    long before = r->copy;
    for (json_int_t i = 0; i < count && !r->full; i++) {
        r->copy = (long)i;
        json_array_append_new(out, expand(r, json_array_get(item, 2)));
    }
    r->copy = before;
}

static json_t *expand(struct room *r, const json_t *value) {
    const char *name;
    json_t *member, *out;
    size_t i;
    take(r, 1, 4);
    if (r->full) {
        return json_null();
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        out = json_object();
        json_object_foreach((json_t *)(uintptr_t)value, name, member) {
            take(r, 1, strlen(name) + 4);
            json_object_set_new(out, name, expand(r, member));
        }
        return out;
    case JSON_ARRAY:
        out = json_array();
        json_array_foreach(value, i, member) {
            expand_item(r, out, member);
        }
        return out;
    case JSON_STRING:
        return expand_text(r, json_string_value(value));
    case JSON_INTEGER:
        return json_integer_value(value) < NUMBER_OF_COPY / 2 ||
                       json_integer_value(value) > 2 * NUMBER_OF_COPY
                   ? json_integer(json_integer_value(value))
                   : json_integer(json_integer_value(value) - NUMBER_OF_COPY + r->copy);
    default:
        return json_deep_copy(value);
    }
}

json_t *fuzz_json_expand(const uint8_t *data, size_t size, size_t values, size_t bytes) {
    struct room r = {.values = values, .bytes = bytes};
    json_t *value = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
    json_t *out = value != NULL ? expand(&r, value) : NULL;
    json_decref(value);
    if (r.full) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* ---- changes ------------------------------------------------------------------------------- */

/* Containers of an input, with the values in them. */
#define PLACES_MAX 4096

struct places {
    json_t *in[PLACES_MAX];       /* an object or a list */
    const char *name[PLACES_MAX]; /* of a member; NULL: an item */
    size_t index[PLACES_MAX];
    size_t count;
};

static void find_places(struct places *p, json_t *value) {
    const char *name;
    json_t *member;
    size_t i;
    json_object_foreach(value, name, member) {
        if (p->count < PLACES_MAX) {
            p->in[p->count] = value;
            p->name[p->count++] = name;
            find_places(p, member);
        }
    }
    json_array_foreach(value, i, member) {
        if (p->count < PLACES_MAX) {
            p->in[p->count] = value;
            p->name[p->count] = NULL;
            p->index[p->count++] = i;
            find_places(p, member);
        }
    }
}

static json_t *value_at(const struct places *p, size_t at) {
    return p->name[at] != NULL ? json_object_get(p->in[at], p->name[at])
                               : json_array_get(p->in[at], p->index[at]);
}

/* Takes the value. */
static void set_at(struct places *p, size_t at, json_t *value) {
    if (p->name[at] != NULL) {
        json_object_set_new(p->in[at], p->name[at], value);
    } else {
        json_array_set_new(p->in[at], p->index[at], value);
    }
}

static unsigned next(unsigned *seed) {
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

/* Another one of the same type, so that the input mostly stays what it is. */
static json_t *other_value(const json_t *value, unsigned *seed) {
    static const json_int_t numbers[] = {0, 1, 2, 63, 999999, 1000000, 1000001, 20000, 4000000000};
    static const char *const texts[] = {"*400,<",  "*4000,/",  "*15000,(", "0x#",           "0x1",
                                        "f#",      "*99,::a<", "main",     "running",       "/opt/shop/shop",
                                        "*99,a b", "python",   "thread 1", "*999,thread 1 "};
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        return json_integer(numbers[next(seed) % (sizeof numbers / sizeof numbers[0])]);
    case JSON_REAL:
        return json_real((double)(next(seed) % 100) / 99);
    case JSON_STRING:
        return json_string(texts[next(seed) % (sizeof texts / sizeof texts[0])]);
    case JSON_TRUE:
    case JSON_FALSE:
        return json_boolean(next(seed) % 2);
    default:
        return json_deep_copy(value);
    }
}

/* N copies: of an item, or of an item of this list. */
static void multiply(struct places *p, size_t at, unsigned *seed) {
    json_t *value = value_at(p, at);
    int count = 1 << next(seed) % 15;
    if (is_repeat(value)) {
        json_integer_set(json_array_get(value, 1), count);
    } else if (p->name[at] == NULL && !is_repeat(p->in[at])) {
        set_at(p, at, json_pack("[s, i, o]", "*", count, json_deep_copy(value)));
    } else if (json_is_array(value) && json_array_size(value) > 0) {
        size_t i = next(seed) % json_array_size(value);
        json_t *item = json_array_get(value, i);
        if (is_repeat(item)) {
            json_integer_set(json_array_get(item, 1), count);
        } else {
            json_array_set_new(value, i, json_pack("[s, i, o]", "*", count, json_deep_copy(item)));
        }
    }
}

static void change_place(struct places *p, size_t at, unsigned *seed) {
    json_t *value = value_at(p, at), *other = value_at(p, next(seed) % p->count);
    switch (next(seed) % 8) {
    case 0: /* another part of the input */
        if (json_typeof(value) == json_typeof(other)) {
            set_at(p, at, json_deep_copy(other));
        }
        break;
    case 1:
    case 2:
        set_at(p, at, other_value(value, seed));
        break;
    case 3: /* one more */
        if (json_is_array(value) && json_array_size(value) > 0) {
            json_array_append_new(value, json_deep_copy(json_array_get(value, 0)));
        }
        break;
    case 4:
        if (p->name[at] != NULL) {
            json_object_del(p->in[at], p->name[at]);
        } else {
            json_array_remove(p->in[at], p->index[at]);
        }
        break;
    default:
        multiply(p, at, seed);
    }
}

static size_t dump(const json_t *value, uint8_t *out, size_t max) {
    size_t bytes = json_dumpb(value, (char *)out, max, DUMP_FLAGS);
    return bytes <= max ? bytes : 0;
}

size_t fuzz_json_change(uint8_t *data, size_t size, size_t max, unsigned seed) {
    static struct places p;
    json_t *value = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
    p.count = 0;
    find_places(&p, value);
    if (p.count > 0) {
        change_place(&p, next(&seed) % p.count, &seed);
    }
    size_t bytes = value != NULL ? dump(value, data, max) : 0;
    json_decref(value);
    return bytes > 0 ? bytes : size;
}

size_t fuzz_json_cross(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                       size_t max, unsigned seed) {
    static struct places p, q;
    json_t *one = json_loadb((const char *)a, a_size, JSON_DECODE_ANY, NULL);
    json_t *two = json_loadb((const char *)b, b_size, JSON_DECODE_ANY, NULL);
    p.count = q.count = 0;
    find_places(&p, one);
    find_places(&q, two);
    if (p.count > 0 && q.count > 0) {
        set_at(&p, next(&seed) % p.count, json_deep_copy(value_at(&q, next(&seed) % q.count)));
    }
    size_t bytes = one != NULL ? dump(one, out, max) : 0;
    json_decref(one);
    json_decref(two);
    return bytes;
}
