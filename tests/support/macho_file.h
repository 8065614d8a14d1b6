/* SPDX-License-Identifier: MIT
 *
 * A Mach-O file as it would lie in memory: its segments, at a base that the test names, as hd_memory.
 */
#ifndef MACHO_FILE_H
#define MACHO_FILE_H

#include "base/memory.h"
#include "image/macho/format.h"

struct macho_file {
    struct hd_memory memory;
    uint64_t base; /* the address of the header, and of bytes[0] */
    uint64_t bytes_count;
    uint8_t *bytes; /* the segments but __PAGEZERO */
    uint32_t cpu;
    /* A read beyond the file goes here; NULL: it fails. */
    int (*beyond)(void *ctx, uint64_t addr, void *dst, size_t n);
    void *beyond_ctx;
};

/* Opens a thin file, or the slice of a fat file for `cpu` (HD_MACHO_CPU_*). False: there is no such file or
 * slice. */
bool macho_file_open(struct macho_file *f, const char *path, uint32_t cpu, uint64_t base);

void macho_file_close(struct macho_file *f);

#endif
