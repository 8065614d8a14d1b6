/* SPDX-License-Identifier: MIT */
#include "collector/report/fast_text.h"

#include <stdint.h>
#include <string.h>

struct decoder {
    const unsigned char *at, *end;
    unsigned char *out;
    size_t used, size;
};

static bool put(struct decoder *d, unsigned char byte) {
    if (d->used == d->size) {
        return false;
    }
    d->out[d->used++] = byte;
    return true;
}

static bool put_character(struct decoder *d, uint32_t c) {
    if (c < 0x80) {
        return c != 0 && put(d, (unsigned char)c);
    }
    if (c < 0x800) {
        return put(d, (unsigned char)(0xc0 | c >> 6)) && put(d, (unsigned char)(0x80 | (c & 0x3f)));
    }
    if (c < 0x10000) {
        return put(d, (unsigned char)(0xe0 | c >> 12)) && put(d, (unsigned char)(0x80 | (c >> 6 & 0x3f))) &&
               put(d, (unsigned char)(0x80 | (c & 0x3f)));
    }
    return put(d, (unsigned char)(0xf0 | c >> 18)) && put(d, (unsigned char)(0x80 | (c >> 12 & 0x3f))) &&
           put(d, (unsigned char)(0x80 | (c >> 6 & 0x3f))) && put(d, (unsigned char)(0x80 | (c & 0x3f)));
}

/* The four digits behind "\u". */
static bool take_unit(struct decoder *d, uint32_t *unit) {
    static const char digits[] = "0123456789abcdef";
    *unit = 0;
    if (d->end - d->at < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        unsigned char c = *d->at++;
        c = c >= 'A' && c <= 'F' ? (unsigned char)(c + 0x20) : c;
        const char *digit = c != 0 ? strchr(digits, c) : NULL;
        if (digit == NULL) {
            return false;
        }
        *unit = *unit << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

static bool take_escape(struct decoder *d) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    uint32_t high, low;
    if (d->at == d->end) {
        return false;
    }
    unsigned char c = *d->at++;
    const char *simple = c != 0 ? strchr(from, c) : NULL;
    if (simple != NULL) {
        return put(d, (unsigned char)to[simple - from]);
    }
    if (c != 'u' || !take_unit(d, &high)) {
        return false;
    }
    if (high < 0xd800 || high > 0xdfff) {
        return put_character(d, high);
    }
    if (high > 0xdbff || d->end - d->at < 2 || d->at[0] != '\\' || d->at[1] != 'u') {
        return false;
    }
    d->at += 2;
    return take_unit(d, &low) && low >= 0xdc00 && low <= 0xdfff &&
           put_character(d, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
}

/* One character of more than one byte, as UTF-8 allows it. */
static bool take_utf8(struct decoder *d) {
    unsigned char first = *d->at;
    size_t n = first >= 0xf0 && first <= 0xf4  ? 4
               : first >= 0xe0 && first < 0xf0 ? 3
               : first >= 0xc2 && first < 0xe0 ? 2
                                               : 0;
    if (n == 0 || (size_t)(d->end - d->at) < n) {
        return false;
    }
    unsigned char second = d->at[1];
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if ((i > 0 && (d->at[i] & 0xc0) != 0x80) || !put(d, d->at[i])) {
            return false;
        }
    }
    d->at += n;
    return true;
}

bool fast_text_decode(const char **at, const char *end, char *out, size_t size, size_t *bytes) {
    struct decoder d = {(const unsigned char *)*at, (const unsigned char *)end, (unsigned char *)out, 0,
                        size};
    bool fits = true;
    while (fits && d.at < d.end && *d.at != '"') {
        unsigned char c = *d.at;
        if (c == '\\') {
            d.at++;
            fits = take_escape(&d);
        } else if (c >= 0x80) {
            fits = take_utf8(&d);
        } else {
            d.at++;
            fits = c >= ' ' && put(&d, c);
        }
    }
    if (!fits || d.at == d.end) {
        return false;
    }
    *at = (const char *)d.at + 1;
    *bytes = d.used;
    return true;
}
