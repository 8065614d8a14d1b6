/* SPDX-License-Identifier: MIT */
#include "image/macho/cursor.h"

static bool fill(struct hd_cursor *c) {
    uint64_t rest = c->end - c->at;
    uint32_t n = rest < HD_CURSOR_WINDOW ? (uint32_t)rest : HD_CURSOR_WINDOW;
    /* The table's last page may be shorter than its stated size. */
    for (; n != 0; n /= 2) {
        if (hd_memory_read(c->memory, c->at, c->window, n)) {
            c->window_at = c->at;
            c->window_bytes = n;
            return true;
        }
    }
    return false;
}

uint8_t hd_cursor_byte(struct hd_cursor *c) {
    if (c->failed || c->at >= c->end || c->budget == 0) {
        c->failed = true;
        return 0;
    }
    if (c->at - c->window_at >= c->window_bytes && !fill(c)) {
        c->failed = true;
        return 0;
    }
    c->budget--;
    return c->window[c->at++ - c->window_at];
}

uint64_t hd_cursor_uleb(struct hd_cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = hd_cursor_byte(c);
        if (shift == 63 && byte > 1) {
            break;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return c->failed ? 0 : value;
        }
    }
    c->failed = true;
    return 0;
}
