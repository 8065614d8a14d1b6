/* SPDX-License-Identifier: MIT */
#include "os/ticks.h"

uint64_t hd_ticks_ratio_32(uint64_t a, uint64_t b) {
    /* Divides bit by bit, since the code that a compiler makes for a 128-bit division is longer than this
     * function. */
    uint64_t quotient = a / b, rest = a % b;
    for (unsigned bit = 0; bit < 32; bit++) {
        rest *= 2;
        quotient = quotient * 2 + (rest >= b);
        rest -= rest >= b ? b : 0;
    }
    return quotient;
}
