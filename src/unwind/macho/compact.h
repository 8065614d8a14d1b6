/* SPDX-License-Identifier: MIT
 *
 * Compact unwind information: the section __unwind_info of a Mach-O image. It maps each function to an
 * encoding of 32 bits, which says how the function's body stores its caller's registers. The table knows no
 * prologue and no epilogue. The decoders of both CPUs are pure, so a test of either runs on any machine. On
 * the worker thread, also during a hang, so without allocation.
 */
#ifndef HD_UNWIND_MACHO_COMPACT_H
#define HD_UNWIND_MACHO_COMPACT_H

#include "image/macho/macho.h"
#include "unwind/cfa.h"

#define HD_COMPACT_INDEX_MAX 65536u /* more pages than these are malformed */

/* The table of an image: addresses in memory. */
struct hd_compact {
    uint64_t text;       /* offsets of functions count from here */
    uint64_t at, end;    /* the section */
    uint64_t common;     /* the encodings that all pages share */
    uint64_t index;      /* the first-level index */
    uint32_t commons;    /* the number of shared encodings */
    uint32_t index_size; /* the number of index entries, with the sentinel */
};

/* An entry of the table. Adjacent functions with equal encodings share an entry, so `start` may be the start
 * of an earlier function. */
struct hd_compact_entry {
    uint64_t start, stop; /* addresses that the encoding is for: [start, stop) */
    uint32_t encoding;
};

enum hd_compact_kind {
    HD_COMPACT_NULL,      /* nothing is known: hand-written code */
    HD_COMPACT_FRAME,     /* the frame pointer points to a frame record */
    HD_COMPACT_FRAMELESS, /* the stack pointer and a size give the CFA */
    HD_COMPACT_DWARF,     /* the FDE at an offset in __eh_frame says more */
};

#define HD_COMPACT_FDE(encoding) ((encoding)&0xffffffu) /* offset in __eh_frame; 0: not known */

/* Reads the header, and checks that the whole index is sorted. Returns 0; -ENOENT: the image has no table;
 * -EFAULT: unreadable; -EINVAL: malformed, or an unknown version. */
int hd_compact_open(const struct hd_memory *memory, const struct hd_macho_tables *tables,
                    struct hd_compact *out);

/* Finds the entry that covers pc. Returns 0; -ENOENT: no entry covers pc; -EFAULT: unreadable; -EINVAL: the
 * page is malformed or unsorted. Writes *out on success only. */
int hd_compact_find(const struct hd_memory *memory, const struct hd_compact *c, uint64_t pc,
                    struct hd_compact_entry *out);

/* Makes a row of an encoding. Returns an enum hd_compact_kind; *row has no rules for HD_COMPACT_NULL and
 * HD_COMPACT_DWARF. Returns -EINVAL: no such encoding exists; -EFAULT: the code that has the size of a large
 * frame is unreadable. On arm64 the row of a frameless function leaves the return address in x30. */
int hd_compact_row_x86_64(const struct hd_memory *memory, const struct hd_compact_entry *entry,
                          struct hd_row *row);
int hd_compact_row_aarch64(const struct hd_compact_entry *entry, struct hd_row *row);

/* The same for a CPU by its number in the image, HD_MACHO_CPU_*. -EINVAL: another CPU. */
int hd_compact_row(const struct hd_memory *memory, uint32_t cpu, const struct hd_compact_entry *entry,
                   struct hd_row *row);

#endif
