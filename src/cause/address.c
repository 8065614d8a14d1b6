/* SPDX-License-Identifier: MIT */
#include "cause/address.h"

#include <string.h>

static void add_ipv4(struct hd_text *t, const uint8_t *address) {
    for (unsigned i = 0; i < 4; i++) {
        hd_text_str(t, i > 0 ? "." : "");
        hd_text_u64(t, address[i]);
    }
}

static void add_group(struct hd_text *t, const uint8_t *group) {
    static const char digits[] = "0123456789abcdef";
    unsigned value = (unsigned)group[0] << 8 | group[1];
    for (int shift = value > 0xfff ? 12 : value > 0xff ? 8 : value > 0xf ? 4 : 0; shift >= 0; shift -= 4) {
        hd_text_mem(t, &digits[value >> shift & 15], 1);
    }
}

/* Writes an IPv6 address in brackets, with "::" for the longest sequence of zero groups (RFC 5952). If the
 * address stands for an IPv4 address, writes the IPv4 address. */
static void add_ipv6(struct hd_text *t, const uint8_t *address) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    unsigned best = 8, best_length = 1;
    if (memcmp(address, mapped, sizeof mapped) == 0) {
        add_ipv4(t, address + 12);
        return;
    }
    for (unsigned from = 0, length; from < 8; from += length + 1) {
        for (length = 0;
             from + length < 8 && (address[2 * (from + length)] | address[2 * (from + length) + 1]) == 0;
             length++) {
        }
        if (length > best_length) {
            best = from;
            best_length = length;
        }
    }
    hd_text_str(t, "[");
    for (unsigned i = 0; i < 8; i++) {
        if (i == best) {
            hd_text_str(t, "::");
            i += best_length - 1;
        } else {
            hd_text_str(t, i > 0 && i != best + best_length ? ":" : "");
            add_group(t, address + 2 * i);
        }
    }
    hd_text_str(t, "]");
}

void hd_address_add(struct hd_text *t, const uint8_t *address, bool v6, uint32_t port) {
    if (v6) {
        add_ipv6(t, address);
    } else {
        add_ipv4(t, address);
    }
    hd_text_str(t, ":");
    hd_text_u64(t, port);
}
