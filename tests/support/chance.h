/* SPDX-License-Identifier: MIT
 *
 * For tests with bytes of any kind: of a sequence that is the same each time.
 */
#ifndef TEST_CHANCE_H
#define TEST_CHANCE_H

#include <stdint.h>

static uint64_t seed = 88172645463325252; /* any but 0 */

static inline uint64_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* One below `end`. */
static inline uint32_t any(uint32_t end) {
    return (uint32_t)(next_random() >> 16) % end;
}

#endif
