/* SPDX-License-Identifier: MIT
 *
 * The table of script functions that were met, and their strings. Worker: may run while a hang is on; no
 * allocation.
 */
#include "script/functions.h"

#include <string.h>

/* One character as UTF-8; its bytes. */
static unsigned put(char *to, uint32_t c) {
    unsigned n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (unsigned i = n; i-- > 1; c >>= 6) {
        to[i] = (char)(0x80 | (c & 0x3f));
    }
    to[0] = (char)(n == 1 ? c : lead[n] | c);
    return n;
}

static uint32_t character(const uint8_t *at, unsigned width) {
    uint32_t c = 0;
    memcpy(&c, at, width);
    return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || c == 0 ? 0xfffd : c;
}

bool hd_functions_room(const struct hd_scripts *s) {
    return s->count < HD_SCRIPTS_MAX && HD_SCRIPT_STRINGS_BYTES - s->string_bytes >=
                                            (HD_SCRIPT_NAME_CHARACTERS + HD_SCRIPT_FILE_CHARACTERS) * 4u + 2u;
}

void hd_functions_utf8(const uint8_t *data, uint32_t n, unsigned width, char *out, size_t size) {
    char one[4];
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        unsigned bytes = put(one, character(data + (size_t)i * width, width));
        if (bytes >= size - at) {
            break;
        }
        memcpy(out + at, one, bytes);
        at += bytes;
    }
    out[at] = '\0';
}

uint32_t hd_functions_keep(struct hd_scripts *s, const uint8_t *data, uint32_t n, unsigned width, bool file) {
    uint32_t start = s->string_bytes, at = start;
    for (uint32_t i = 0; i < n; i++) {
        at += put(s->string + at, character(data + (size_t)i * width, width));
    }
    s->string[at++] = 0;
    for (uint32_t k = 0; k < s->count; k++) { /* most functions share their file with others */
        if (file && strcmp(s->string + s->script[k].file, s->string + start) == 0) {
            return s->script[k].file;
        }
    }
    s->string_bytes = at;
    return start;
}

uint16_t hd_functions_add(struct hd_scripts *s, const struct hd_script *function) {
    s->script[s->count++] = *function;
    return (uint16_t)s->count;
}
