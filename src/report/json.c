/* SPDX-License-Identifier: MIT
 *
 * Worker code: may run while a hang lasts; no allocation.
 */
#include "report/json.h"

#include <string.h>

#include "record/uuid.h"

static void flush(struct hd_json *j) {
    if (j->error == 0 && j->used != 0) {
        j->error = j->sink.put(j->sink.ctx, j->buf, j->used);
    }
    j->used = 0;
}

static void put(struct hd_json *j, const char *s, size_t n) {
    while (n != 0) {
        size_t room = j->size - j->used, part = n < room ? n : room;
        memcpy(j->buf + j->used, s, part);
        j->used += part;
        s += part;
        n -= part;
        if (j->used == j->size) {
            flush(j);
        }
    }
}

void hd_json_init(struct hd_json *j, char *buf, size_t size, struct hd_sink sink) {
    *j = (struct hd_json){.buf = buf, .size = size, .sink = sink};
}

int hd_json_finish(struct hd_json *j) {
    put(j, "\n", 1);
    flush(j);
    return j->error;
}

/* Writes what is before a value: the comma and the name. */
static void begin(struct hd_json *j, const char *name) {
    if (j->comma) {
        put(j, ",", 1);
    }
    j->comma = true;
    if (name == NULL) {
        return;
    }
    put(j, "\"", 1);
    put(j, name, strlen(name));
    put(j, "\":", 2);
}

static void open_scope(struct hd_json *j, const char *name, char bracket) {
    begin(j, name);
    put(j, &bracket, 1);
    j->comma = false;
}

static void close_scope(struct hd_json *j, char bracket) {
    put(j, &bracket, 1);
    j->comma = true;
}

void hd_json_object(struct hd_json *j, const char *name) {
    open_scope(j, name, '{');
}

void hd_json_end_object(struct hd_json *j) {
    close_scope(j, '}');
}

void hd_json_array(struct hd_json *j, const char *name) {
    open_scope(j, name, '[');
}

void hd_json_end_array(struct hd_json *j) {
    close_scope(j, ']');
}

/* ---- strings ------------------------------------------------------------------------------ */

/* Bytes of the UTF-8 character at s; 0: not a valid character (RFC 3629: overlong forms, surrogates). */
static size_t utf8_bytes(const uint8_t *s, size_t n) {
    uint8_t lo = 0x80, hi = 0xbf; /* bounds of the second byte */
    size_t more;
    if (s[0] < 0x80) {
        return 1;
    }
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        more = 1;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        more = 2;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        more = 3;
    } else {
        return 0;
    }
    if (s[0] == 0xe0) {
        lo = 0xa0;
    }
    if (s[0] == 0xed) {
        hi = 0x9f;
    }
    if (s[0] == 0xf0) {
        lo = 0x90;
    }
    if (s[0] == 0xf4) {
        hi = 0x8f;
    }
    if (n <= more || s[1] < lo || s[1] > hi) {
        return 0;
    }
    for (size_t i = 2; i <= more; i++) {
        if (s[i] < 0x80 || s[i] > 0xbf) {
            return 0;
        }
    }
    return more + 1;
}

static bool is_plain(uint8_t c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Writes the escape of one character. Returns how many bytes of s the character has. */
static size_t put_escaped(struct hd_json *j, const uint8_t *s, size_t n) {
    static const char hex[] = "0123456789abcdef";
    if (s[0] == '"' || s[0] == '\\') {
        char two[2] = {'\\', (char)s[0]};
        put(j, two, 2);
        return 1;
    }
    if (s[0] < 0x20 || s[0] == 0x7f) {
        char six[6] = {'\\', 'u', '0', '0', hex[s[0] >> 4], hex[s[0] & 15]};
        put(j, six, 6);
        return 1;
    }
    size_t bytes = utf8_bytes(s, n);
    if (bytes == 0) {
        put(j, "\\ufffd", 6);
        return 1;
    }
    put(j, (const char *)s, bytes);
    return bytes;
}

void hd_json_mem(struct hd_json *j, const char *name, const char *text, size_t n) {
    const uint8_t *s = (const uint8_t *)text;
    begin(j, name);
    put(j, "\"", 1);
    while (n != 0) {
        size_t run = 0;
        while (run < n && is_plain(s[run])) {
            run++;
        }
        put(j, (const char *)s, run);
        s += run;
        n -= run;
        if (n == 0) {
            break;
        }
        size_t bytes = put_escaped(j, s, n);
        s += bytes;
        n -= bytes;
    }
    put(j, "\"", 1);
}

void hd_json_str(struct hd_json *j, const char *name, const char *s) {
    if (s != NULL) {
        hd_json_mem(j, name, s, strlen(s));
    }
}

/* ---- values that need no escape ----------------------------------------------------------- */

void hd_json_u64(struct hd_json *j, const char *name, uint64_t v) {
    if (v > INT64_MAX) {
        v = INT64_MAX; /* readers have 63 bits for a number */
    }
    char c[24];
    struct hd_text t;
    hd_text_init(&t, c, sizeof c);
    hd_text_u64(&t, v);
    begin(j, name);
    put(j, c, t.used);
}

void hd_json_i64(struct hd_json *j, const char *name, int64_t v) {
    char c[24];
    struct hd_text t;
    hd_text_init(&t, c, sizeof c);
    hd_text_i64(&t, v);
    begin(j, name);
    put(j, c, t.used);
}

void hd_json_bool(struct hd_json *j, const char *name, bool v) {
    begin(j, name);
    put(j, v ? "true" : "false", v ? 4 : 5);
}

void hd_json_fixed(struct hd_json *j, const char *name, double v, unsigned decimals) {
    char c[40];
    struct hd_text t;
    hd_text_init(&t, c, sizeof c);
    hd_text_fixed(&t, v, decimals);
    begin(j, name);
    put(j, c, t.used);
}

static void put_quoted(struct hd_json *j, const char *name, const struct hd_text *t) {
    begin(j, name);
    put(j, "\"", 1);
    put(j, t->buf, t->used);
    put(j, "\"", 1);
}

void hd_json_hex(struct hd_json *j, const char *name, uint64_t v) {
    char c[24];
    struct hd_text t;
    hd_text_init(&t, c, sizeof c);
    hd_text_hex(&t, v);
    put_quoted(j, name, &t);
}

void hd_json_hex_bytes(struct hd_json *j, const char *name, const uint8_t *bytes, size_t n) {
    char c[2 * HD_BUILD_ID_MAX + 1];
    struct hd_text t;
    hd_text_init(&t, c, sizeof c);
    hd_text_hex_bytes(&t, bytes, n < HD_BUILD_ID_MAX ? n : HD_BUILD_ID_MAX);
    put_quoted(j, name, &t);
}

void hd_json_time(struct hd_json *j, const char *name, uint64_t wall_ns) {
    char c[40];
    struct hd_text t;
    hd_text_init(&t, c, sizeof c);
    hd_text_time(&t, wall_ns);
    put_quoted(j, name, &t);
}

void hd_json_uuid(struct hd_json *j, const char *name, const uint8_t id[HD_UUID_BYTES]) {
    char c[37];
    hd_uuid_text(id, c);
    begin(j, name);
    put(j, "\"", 1);
    put(j, c, 36);
    put(j, "\"", 1);
}
