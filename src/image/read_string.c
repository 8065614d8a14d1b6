/* SPDX-License-Identifier: MIT */
#include "image/read_string.h"

#include <errno.h>
#include <string.h>

/* A piece does not cross a page: the next page may not be mapped. Larger pages are multiples of this size. */
#define PAGE 4096u

int hd_image_read_string(const struct hd_memory *memory, uint64_t address, char *dst, size_t n) {
    size_t have = 0;
    if (n == 0) {
        return -EFAULT;
    }
    dst[0] = 0;
    while (have < n - 1) {
        size_t piece = PAGE - (size_t)((address + have) % PAGE);
        if (piece > 256) {
            piece = 256;
        }
        if (piece > n - 1 - have) {
            piece = n - 1 - have;
        }
        if (!hd_memory_read(memory, address + have, dst + have, piece)) {
            dst[have] = 0;
            return have != 0 ? 0 : -EFAULT;
        }
        if (strnlen(dst + have, piece) < piece) {
            return 0;
        }
        have += piece;
    }
    dst[have] = 0;
    return 0;
}
