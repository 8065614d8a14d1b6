/* SPDX-License-Identifier: MIT
 *
 * Memory that may not be there: reads that fail instead of a fault. Pure.
 */
#ifndef HD_MEMORY_H
#define HD_MEMORY_H

#include "base/types.h"

/* Fallible memory. Returns 0, or a negative errno when not all of it can be read. */
struct hd_memory {
    int (*read)(void *ctx, uint64_t addr, void *dst, size_t n);
    /* Asked of what may be no address at all: whether there is anything, as far as is known. NULL: it is not.
     */
    bool (*touched)(void *ctx, uint64_t addr);
    void *ctx;
};

static inline bool hd_memory_read(const struct hd_memory *memory, uint64_t addr, void *dst, size_t n) {
    return memory->read(memory->ctx, addr, dst, n) == 0;
}

static inline bool hd_memory_touched(const struct hd_memory *memory, uint64_t addr) {
    return memory->touched == NULL || memory->touched(memory->ctx, addr);
}

#endif
