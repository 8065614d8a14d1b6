/* SPDX-License-Identifier: MIT
 *
 * A reader of JSON in place.
 */
#include "bench_json.h"

#include <stdlib.h>
#include <string.h>

static const char *space(const char *p) {
    return p + strspn(p, " \t\r\n");
}

/* Behind the string at `p`, which stands at its quote. */
static const char *skip_string(const char *p) {
    for (p++; *p != '"'; p++) {
        if (*p == '\0' || (*p == '\\' && *++p == '\0')) {
            return NULL;
        }
    }
    return p + 1;
}

/* Behind the value at `p`. */
static const char *skip(const char *p) {
    unsigned depth = 0;
    do {
        p = space(p);
        if (*p == '"') {
            p = skip_string(p);
            if (p == NULL) {
                return NULL;
            }
        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;
        } else if (*p == '}' || *p == ']') {
            if (depth == 0) {
                return NULL;
            }
            depth--;
            p++;
        } else if (*p == '\0') {
            return NULL;
        } else {
            size_t n = strcspn(p, ",:{}[]\" \t\r\n");
            p += n > 0 ? n : 1; /* a number or word; within something, a comma or colon */
        }
    } while (depth > 0);
    return p;
}

const char *bench_json_member(const char *at, const char *key) {
    size_t n = strlen(key);
    if (at == NULL || *at != '{') {
        return NULL;
    }
    for (const char *p = space(at + 1); *p == '"'; p = space(p + 1)) {
        const char *name = p + 1, *behind = skip_string(p);
        p = behind != NULL ? space(behind) : "";
        if (*p != ':') {
            return NULL;
        }
        p = space(p + 1);
        if ((size_t)(behind - 1 - name) == n && strncmp(name, key, n) == 0) {
            return p;
        }
        p = skip(p);
        p = p != NULL ? space(p) : "";
        if (*p != ',') {
            return NULL;
        }
    }
    return NULL;
}

const char *bench_json_first(const char *at) {
    if (at == NULL || *at != '[') {
        return NULL;
    }
    at = space(at + 1);
    return *at == ']' ? NULL : at;
}

const char *bench_json_next(const char *item) {
    const char *p = skip(item);
    p = p != NULL ? space(p) : "";
    return *p == ',' ? space(p + 1) : NULL;
}

uint64_t bench_json_u64(const char *value, uint64_t otherwise) {
    if (value == NULL) {
        return otherwise;
    }
    bool hex = strncmp(value, "\"0x", 3) == 0;
    char *end;
    uint64_t n = strtoull(hex ? value + 3 : value, &end, hex ? 16 : 10);
    return end == value ? otherwise : n;
}

bool bench_json_is(const char *value, const char *text) {
    size_t n = strlen(text);
    return value != NULL && value[0] == '"' && strncmp(value + 1, text, n) == 0 && value[n + 1] == '"';
}

void bench_json_text(const char *value, char *out, size_t size) {
    if (value == NULL || value[0] != '"') {
        out[0] = '\0';
        return;
    }
    size_t n = strcspn(value + 1, "\"");
    n = n < size ? n : size - 1;
    memcpy(out, value + 1, n);
    out[n] = '\0';
}
