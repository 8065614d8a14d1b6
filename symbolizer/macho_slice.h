/* SPDX-License-Identifier: MIT
 *
 * Finds a program in a Mach-O file by its UUID, and reads the sections, symbols and starts of functions. The
 * file is hostile input: each offset is checked against the file's size. Pure; allocates.
 */
#ifndef SYMBOLIZER_MACHO_SLICE_H
#define SYMBOLIZER_MACHO_SLICE_H

#include "image/macho/slices.h"
#include "symbolizer/elf_head.h"

/* A file in memory. */
struct macho_bytes {
    const uint8_t *at;
    size_t n;
};

#define MACHO_SLICES_MAX HD_MACHO_SLICES_MAX

/* One program of a file: a file for several CPUs has several. */
struct macho_slice {
    uint64_t offset, bytes; /* in the file */
    uint32_t cpu;           /* CPU_TYPE_* of Mach-O */
    uint8_t id[16];         /* the UUID; zeros: there is none */
    bool has_id;
};

/* Lists the slices of 64 bits. Returns their number; 0: the file is no Mach-O file, or a broken one. */
unsigned macho_slices(struct macho_bytes file, struct macho_slice out[MACHO_SLICES_MAX]);

/* Fills *out, whose symbols the caller frees. Returns NULL, or what is wrong with the file. */
const char *macho_slice_read(struct macho_bytes file, const struct macho_slice *slice, struct elf_head *out);

/* True: the slice has a table of symbols or debug information. */
bool macho_slice_has_names(const struct elf_head *read);

#endif
