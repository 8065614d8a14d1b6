/* SPDX-License-Identifier: MIT */
#include "collector/report/schema_text.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool schema_text_is_address(const char *text, size_t bytes) {
    for (size_t i = 2; i < bytes; i++) {
        if (!is_digit(text[i]) && (text[i] < 'a' || text[i] > 'f')) {
            return false;
        }
    }
    return bytes > 2 && text[0] == '0' && text[1] == 'x';
}

bool schema_text_is_moment(const char *text, size_t bytes) {
    static const char shape[] = "0000-00-00T00:00:00";
    const size_t seconds = sizeof shape - 1;
    if (bytes <= seconds) {
        return false;
    }
    for (size_t i = 0; i < seconds; i++) {
        if (shape[i] == '0' ? !is_digit(text[i]) : text[i] != shape[i]) {
            return false;
        }
    }
    size_t at = seconds;
    if (text[at] == '.') {
        for (at++; at < bytes && is_digit(text[at]); at++) {
        }
        at -= at == seconds + 1 ? 1 : 0; /* a point needs a digit */
    }
    return at + 1 == bytes && text[at] == 'Z';
}
