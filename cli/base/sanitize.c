/* SPDX-License-Identifier: MIT
 *
 * Control characters: ASCII's, DEL, and the second set, U+0080 to U+009F, as UTF-8 has it or as bytes by
 * themselves. Also characters that change the direction of text, U+202A to U+202E and U+2066 to U+2069. With
 * them a terminal would show a name in another order.
 */
#include "cli/base/sanitize.h"

#include <stdlib.h>
#include <string.h>

static bool turns_text(const unsigned char s[3]) {
    return s[0] == 0xe2 &&
           ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

/* The bytes of the first character: more than one only where they are UTF-8. */
static size_t next(const char *text, size_t left, bool *control) {
    const unsigned char *s = (const unsigned char *)text;
    size_t bytes = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 1;
    bool whole = bytes <= left && s[0] <= 0xf4;
    for (size_t i = 1; whole && i < bytes; i++) {
        whole = (s[i] & 0xc0) == 0x80;
    }
    if (whole && bytes > 2) { /* an overlong encoding is not a character */
        whole = !(s[0] == 0xe0 && s[1] < 0xa0) && !(s[0] == 0xf0 && s[1] < 0x90);
    }
    if (!whole) {
        bytes = 1;
    }
    unsigned char last = bytes == 2 && s[0] == 0xc2 ? s[1] : s[0];
    *control =
        (bytes <= 2 && (last < 0x20 || (last >= 0x7f && last <= 0x9f))) || (bytes == 3 && turns_text(s));
    return bytes;
}

bool sanitize_is_plain(const char *text) {
    bool plain = true, control;
    for (size_t n, left = strlen(text); plain && left > 0; text += n, left -= n) {
        n = next(text, left, &control);
        plain = !control && (n > 1 || (unsigned char)*text < 0x80);
    }
    return plain;
}

void sanitize_text(char *text) {
    char *to = text;
    bool control;
    for (size_t n, left = strlen(text); left > 0; text += n, left -= n) {
        n = next(text, left, &control);
        if (control) {
            *to++ = '?';
        } else {
            memmove(to, text, n);
            to += n;
        }
    }
    *to = '\0';
}

/* The bytes up to what may be a control character: most of a text at once. */
static size_t plain_run(const char *text, size_t left) {
    size_t n = 0;
    while (n < left && (unsigned char)text[n] - 0x20U < 0x5fU) {
        n++;
    }
    return n;
}

void sanitize_print(FILE *out, const char *text) {
    bool control = false;
    for (size_t n, left = text != NULL ? strlen(text) : 0; left > 0; text += n, left -= n) {
        n = plain_run(text, left);
        if (n == 0) {
            n = next(text, left, &control);
        } else {
            control = false;
        }
        if (control) {
            fputc('?', out);
        } else {
            fwrite(text, 1, n, out);
        }
    }
}

const char *cli_plural(int64_t count, const char *one, const char *other) {
    return count == 1 ? one : other;
}

/* Of a control character. */
static unsigned code_of(const char *text, size_t bytes) {
    unsigned last = (unsigned char)text[bytes - 1];
    return bytes < 3 ? last : 0x2000 | ((unsigned char)text[1] & 0x3f) << 6 | (last & 0x3f);
}

/* The library escapes ASCII's, and ends no piece within a character; new lines are its own. */
static int put_json(const char *text, size_t left, void *out) {
    bool control = false;
    for (size_t n; left > 0; text += n, left -= n) {
        n = plain_run(text, left);
        if (n == 0) {
            n = next(text, left, &control);
        } else {
            control = false;
        }
        if (control && *text != '\n') {
            fprintf(out, "\\u%04x", code_of(text, n));
        } else {
            fwrite(text, 1, n, out);
        }
    }
    return ferror((FILE *)out) ? -1 : 0;
}

int sanitize_print_json(FILE *out, const json_t *json, size_t flags) {
    flags |= JSON_REAL_PRECISION(15); /* with more 0.9871 would be 0.98709999999999998 */
    return json_dump_callback(json, put_json, out, flags) == 0 && fputc('\n', out) != EOF ? 0 : -1;
}

char *sanitize_json_text(const json_t *json, size_t flags) {
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    bool well = out != NULL && json_dump_callback(json, put_json, out, flags) == 0;
    well = out != NULL && fclose(out) == 0 && well;
    if (!well) {
        free(text);
        return NULL;
    }
    return text;
}
