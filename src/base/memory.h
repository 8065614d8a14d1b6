/* SPDX-License-Identifier: MIT
 *
 * Memory that may not be mapped: a read of it fails, and raises no fault. Pure.
 */
#ifndef HD_MEMORY_H
#define HD_MEMORY_H

#include "base/types.h"

/* How to read such memory. */
struct hd_memory {
    /* 0, or a negative errno value when some of the bytes cannot be read. */
    int (*read)(void *ctx, uint64_t addr, void *dst, size_t n);
    /* True: the page at this address may be readable. For a value that may not be an address: cheaper than a
     * read that fails. NULL: any page may be. */
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
