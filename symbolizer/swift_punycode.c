/* SPDX-License-Identifier: MIT
 *
 * Punycode. Ordinary code.
 */
#include "symbolizer/swift_punycode.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CHARACTERS_MAX 512 /* inserting is quadratic */

enum {
    BASE = 36,
    THRESHOLD_MIN = 1,
    THRESHOLD_MAX = 26,
    SKEW = 38,
    DAMP = 700,
    FIRST_BIAS = 72,
    FIRST_CHARACTER = 128,
};

static uint32_t adapt(uint32_t delta, uint32_t count, bool first) {
    uint32_t k = 0;
    delta = first ? delta / DAMP : delta / 2;
    delta += delta / count;
    for (; delta > (BASE - THRESHOLD_MIN) * THRESHOLD_MAX / 2; k += BASE) {
        delta /= BASE - THRESHOLD_MIN;
    }
    return k + (BASE - THRESHOLD_MIN + 1) * delta / (delta + SKEW);
}

static int digit_of(char c) {
    if (c >= 'a' && c <= 'z') {
        return c - 'a';
    }
    return c >= 'A' && c <= 'J' ? c - 'A' + 26 : -1;
}

/* A number of variable length at *at. False: not well-formed. */
static bool read_delta(const char **at, const char *end, uint32_t bias, uint32_t *sum) {
    uint32_t weight = 1;
    for (uint32_t k = BASE;; k += BASE) {
        int digit = *at < end ? digit_of(*(*at)++) : -1;
        if (digit < 0 || (uint64_t)*sum + (uint64_t)digit * weight > INT32_MAX) {
            return false;
        }
        *sum += (uint32_t)digit * weight;
        uint32_t threshold = k <= bias + THRESHOLD_MIN   ? THRESHOLD_MIN
                             : k >= bias + THRESHOLD_MAX ? THRESHOLD_MAX
                                                         : k - bias;
        if ((uint32_t)digit < threshold) {
            return true;
        }
        if ((uint64_t)weight * (BASE - threshold) > INT32_MAX) {
            return false;
        }
        weight *= BASE - threshold;
    }
}

/* The number of characters; 0: not well-formed. */
static size_t decode(const char *in, size_t bytes, uint32_t out[CHARACTERS_MAX]) {
    const char *end = in + bytes, *delimiter = memrchr(in, '_', bytes);
    size_t n = 0;
    for (; delimiter != NULL && in < delimiter; in++) {
        if ((unsigned char)*in >= FIRST_CHARACTER || n == CHARACTERS_MAX) {
            return 0;
        }
        out[n++] = (unsigned char)*in;
    }
    in += delimiter != NULL;
    uint32_t character = FIRST_CHARACTER, place = 0, bias = FIRST_BIAS;
    while (in < end) {
        uint32_t before = place;
        if (n == CHARACTERS_MAX || !read_delta(&in, end, bias, &place)) {
            return 0;
        }
        n++;
        bias = adapt(place - before, (uint32_t)n, before == 0);
        character += place / (uint32_t)n;
        place %= (uint32_t)n;
        if (character > 0x10ffff) {
            return 0;
        }
        memmove(out + place + 1, out + place, (n - 1 - place) * sizeof out[0]);
        out[place++] = character;
    }
    return n;
}

/* Swift encodes an ASCII character that no identifier has as a surrogate from D800. The rest of the
 * surrogates is no text. 0: not a character. */
static size_t write_utf8(uint32_t c, char out[4]) {
    if (c >= 0xd800 && c < 0xd880) {
        c -= 0xd800;
    }
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xe000)) {
        return 0;
    }
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6) {
        out[i] = (char)(0x80 | (c & 0x3f));
    }
    out[0] = (char)((0xf00U >> n) | c);
    return n;
}

size_t swift_punycode(const char *in, size_t bytes, char *out, size_t room) {
    uint32_t characters[CHARACTERS_MAX];
    size_t used = 0, count = decode(in, bytes, characters);
    for (size_t i = 0; i < count; i++) {
        char encoded[4];
        size_t n = write_utf8(characters[i], encoded);
        if (n == 0 || n > room - used) {
            return 0;
        }
        memcpy(out + used, encoded, n);
        used += n;
    }
    return used;
}
