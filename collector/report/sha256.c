/* SPDX-License-Identifier: MIT */
#include "collector/report/sha256.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>

void sha256(const void *data, size_t bytes, uint8_t out[SHA256_BYTES]) {
    /* gnutls_hash_fast fails only where the library refuses all work. Without a hash, any key would pass. */
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, data, bytes, out) != 0) {
        abort();
    }
}

void sha256_hex(const uint8_t *data, size_t bytes, char *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes; i++) {
        *out++ = digits[data[i] >> 4];
        *out++ = digits[data[i] & 15];
    }
    *out = '\0';
}
