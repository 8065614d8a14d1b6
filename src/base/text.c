/* SPDX-License-Identifier: MIT
 *
 * Worker code: may run while a hang lasts; no allocation.
 */
#include "base/text.h"

#include <string.h>

#define DIGITS_MAX 20 /* of UINT64_MAX in base ten */

void hd_text_init(struct hd_text *t, char *buf, size_t size) {
    t->buf = buf;
    t->size = size;
    t->used = 0;
    buf[0] = 0;
}

void hd_text_mem(struct hd_text *t, const char *s, size_t n) {
    size_t room = t->size - 1 - t->used;
    if (n > room) {
        n = room;
    }
    memcpy(t->buf + t->used, s, n);
    t->used += n;
    t->buf[t->used] = 0;
}

void hd_text_str(struct hd_text *t, const char *s) {
    hd_text_mem(t, s, strlen(s));
}

void hd_text_base_name(char *out, size_t size, const char *path) {
    const char *base = path;
    for (const char *p = path; *p != '\0'; p++) {
        base = *p == '/' && p[1] != '\0' ? p + 1 : base;
    }
    struct hd_text t;
    hd_text_init(&t, out, size);
    hd_text_str(&t, base);
    if (base[t.used] != '\0') {
        for (t.used -= strlen("..."); t.used > 0 && (base[t.used] & 0xc0) == 0x80; t.used--) {
        }
        hd_text_str(&t, "...");
    }
}

void hd_text_padded(struct hd_text *t, uint64_t v, unsigned digits) {
    char c[DIGITS_MAX];
    unsigned n = 0;
    do {
        c[DIGITS_MAX - ++n] = (char)('0' + v % 10);
        v /= 10;
    } while ((v != 0 || n < digits) && n < DIGITS_MAX);
    hd_text_mem(t, c + DIGITS_MAX - n, n);
}

void hd_text_u64(struct hd_text *t, uint64_t v) {
    hd_text_padded(t, v, 1);
}

void hd_text_i64(struct hd_text *t, int64_t v) {
    if (v < 0) {
        hd_text_mem(t, "-", 1);
    }
    hd_text_padded(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 1);
}

static const char hex_digits[] = "0123456789abcdef";

void hd_text_hex(struct hd_text *t, uint64_t v) {
    char c[16];
    unsigned n = 0;
    do {
        c[16 - ++n] = hex_digits[v & 15];
        v >>= 4;
    } while (v != 0);
    hd_text_mem(t, "0x", 2);
    hd_text_mem(t, c + 16 - n, n);
}

void hd_text_hex_bytes(struct hd_text *t, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c[2] = {hex_digits[bytes[i] >> 4], hex_digits[bytes[i] & 15]};
        hd_text_mem(t, c, 2);
    }
}

void hd_text_fixed(struct hd_text *t, double v, unsigned decimals) {
    uint64_t scale = 1;
    if (decimals > 9) {
        decimals = 9;
    }
    for (unsigned i = 0; i < decimals; i++) {
        scale *= 10;
    }
    if (!(v > -9e9 && v < 9e9)) {
        v = 0; /* the comparison is also false for NaN */
    }
    uint64_t scaled = (uint64_t)((v < 0 ? -v : v) * (double)scale + 0.5);
    if (v < 0 && scaled != 0) {
        hd_text_mem(t, "-", 1);
    }
    hd_text_u64(t, scaled / scale);
    if (decimals == 0) {
        return;
    }
    hd_text_mem(t, ".", 1);
    hd_text_padded(t, scaled % scale, decimals);
}

/* The date of the Gregorian calendar that is `days` after 1970-01-01. Years start on 1 March here, so a leap
 * day ends a year; an era of 400 years has 146,097 days. */
static void date_of_days(uint64_t days, uint64_t *year, unsigned *month, unsigned *day) {
    days += 719468; /* from 0000-03-01 */
    uint64_t era = days / 146097;
    unsigned in_era = (unsigned)(days % 146097);
    unsigned y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    unsigned in_year = in_era - (365 * y + y / 4 - y / 100);
    unsigned m = (5 * in_year + 2) / 153; /* 0 is March */
    *day = in_year - (153 * m + 2) / 5 + 1;
    *month = m < 10 ? m + 3 : m - 9;
    *year = era * 400 + y + (*month <= 2);
}

void hd_text_time(struct hd_text *t, uint64_t wall_ns) {
    uint64_t seconds = wall_ns / HD_NS_PER_S, year;
    unsigned month, day, second = (unsigned)(seconds % 86400);
    date_of_days(seconds / 86400, &year, &month, &day);
    hd_text_padded(t, year, 4);
    hd_text_mem(t, "-", 1);
    hd_text_padded(t, month, 2);
    hd_text_mem(t, "-", 1);
    hd_text_padded(t, day, 2);
    hd_text_mem(t, "T", 1);
    hd_text_padded(t, second / 3600, 2);
    hd_text_mem(t, ":", 1);
    hd_text_padded(t, second / 60 % 60, 2);
    hd_text_mem(t, ":", 1);
    hd_text_padded(t, second % 60, 2);
    hd_text_mem(t, ".", 1);
    hd_text_padded(t, wall_ns % HD_NS_PER_S, 9);
    hd_text_mem(t, "Z", 1);
}

const char *hd_text_take_number(const char *p, uint64_t *out) {
    uint64_t v = 0;
    for (; *p == ' ' || *p == '\t'; p++) {
    }
    for (; *p >= '0' && *p <= '9'; p++) {
        v = v * 10 + (uint64_t)(*p - '0');
    }
    *out = v;
    return p;
}

size_t hd_text_until(const char *s, const char *stops) {
    size_t n = 0;
    for (; s[n] != '\0'; n++) {
        for (const char *stop = stops; *stop != '\0'; stop++) {
            if (s[n] == *stop) {
                return n;
            }
        }
    }
    return n;
}
