/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

uint64_t hd_hash(uint64_t hash, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ p[i]) * 0x100000001b3ULL;
    }
    return hash;
}
