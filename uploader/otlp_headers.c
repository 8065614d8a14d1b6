/* SPDX-License-Identifier: MIT */
#include "uploader/otlp_headers.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static int digit(char c) {
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* False: it has a character that would end the header's line. */
static bool decode(const char *text, size_t n, char *out) {
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == '%' && i + 2 < n && isxdigit((unsigned char)text[i + 1]) &&
            isxdigit((unsigned char)text[i + 2])) {
            c = (char)(digit(text[i + 1]) << 4 | digit(text[i + 2]));
            i += 2;
        }
        if (iscntrl((unsigned char)c)) {
            return false;
        }
        *out++ = c;
    }
    *out = '\0';
    return true;
}

static bool is_name(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)text[i]) && strchr("-_.", text[i]) == NULL) {
            return false;
        }
    }
    return n > 0;
}

void otlp_headers_read(const char *text, struct otlp_headers *out) {
    out->count = 0;
    while (text != NULL && *text != '\0' && out->count < OTLP_HEADERS_MAX) {
        text += strspn(text, " ,");
        size_t all = strcspn(text, ","), name = strcspn(text, "=,");
        char *line = out->line[out->count];
        if (name < all && all < OTLP_HEADER_BYTES - 2 && is_name(text, name) &&
            decode(text + name + 1, all - name - 1, line + name + 2)) {
            memcpy(line, text, name);
            line[name] = ':';
            line[name + 1] = ' ';
            out->count++;
        }
        text += all;
    }
}
