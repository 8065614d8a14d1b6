/* SPDX-License-Identifier: MIT
 *
 * The cache of unwind tables. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/lines.h"

#include <errno.h>
#include <string.h>

/* Returns the cached line at `address`. NULL: some of the line cannot be read, for instance
 * because a mapping ends there. */
static const uint8_t *line_at(struct hd_lines *l, uint64_t address) {
    uint32_t slot = (uint32_t)(address / HD_LINE_BYTES * UINT64_C(0x9e3779b97f4a7c15) >> 32) % HD_LINES;
    if (l->address[slot] != address) {
        l->address[slot] = 0;
        if (!hd_memory_read(l->memory, address, l->bytes[slot], HD_LINE_BYTES)) {
            return NULL;
        }
        l->address[slot] = address;
    }
    return l->bytes[slot];
}

static int read_by_lines(void *lines, uint64_t addr, void *dst, size_t n) {
    struct hd_lines *l = lines;
    for (size_t done = 0; done < n;) {
        uint64_t at = addr + done, offset = at % HD_LINE_BYTES;
        size_t part = HD_LINE_BYTES - offset < n - done ? HD_LINE_BYTES - offset : n - done;
        const uint8_t *line = at - offset != 0 ? line_at(l, at - offset) : NULL;
        if (line != NULL) {
            memcpy((uint8_t *)dst + done, line + offset, part);
        } else if (!hd_memory_read(l->memory, at, (uint8_t *)dst + done, part)) {
            return -EFAULT;
        }
        done += part;
    }
    return 0;
}

void hd_lines_init(struct hd_lines *l, const struct hd_memory *memory) {
    l->memory = memory;
    l->cached = (struct hd_memory){.read = read_by_lines, .ctx = l};
    hd_lines_flush(l);
}

void hd_lines_flush(struct hd_lines *l) {
    memset(l->address, 0, sizeof l->address);
}
