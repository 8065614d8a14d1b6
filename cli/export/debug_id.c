/* SPDX-License-Identifier: MIT */
#include "cli/export/debug_id.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    ID_BYTES = 16,
    BUILD_ID_BYTES_MAX = 64
};

static unsigned digit(char c) {
    return (unsigned)(isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10);
}

static bool read_id(unsigned char id[ID_BYTES], const char *build_id) {
    size_t n = strlen(build_id);
    memset(id, 0, ID_BYTES);
    if (n < 2 || n % 2 != 0 || n > 2 * (size_t)BUILD_ID_BYTES_MAX ||
        strspn(build_id, "0123456789abcdefABCDEF") != n) {
        return false;
    }
    for (size_t i = 0; i < ID_BYTES && 2 * i < n; i++) {
        id[i] = (unsigned char)(digit(build_id[2 * i]) << 4 | digit(build_id[2 * i + 1]));
    }
    return true;
}

static bool write_id(char out[DEBUG_ID_BYTES], const char *build_id, const char *format) {
    unsigned char b[ID_BYTES];
    out[0] = '\0';
    if (!read_id(b, build_id)) {
        return false;
    }
    snprintf(out, DEBUG_ID_BYTES, format, b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6], b[8], b[9], b[10],
             b[11], b[12], b[13], b[14], b[15]);
    return true;
}

bool export_debug_id(char out[DEBUG_ID_BYTES], const char *build_id) {
    return write_id(out, build_id, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x");
}

void export_breakpad_id(char out[DEBUG_ID_BYTES], const char *build_id) {
    write_id(out, build_id, "%02X%02X%02X%02X%02X%02X%02X%02X%02X%02X%02X%02X%02X%02X%02X%02X0");
}
