/* SPDX-License-Identifier: MIT
 *
 * The tables of a Mach-O image: where its unwind information, symbols and function starts lie in memory. The
 * load commands are read by reads that may fail. Any thread; no allocation.
 */
#ifndef HD_IMAGE_MACHO_MACHO_H
#define HD_IMAGE_MACHO_MACHO_H

#include "base/memory.h"
#include "image/macho/fault.h"
#include "image/macho/format.h"

#define HD_MACHO_STUBS_MAX 4u

struct hd_macho_range {
    uint64_t lo, hi;
};

/* Addresses are in memory; 0: the image has no such table. */
struct hd_macho_tables {
    uint64_t text;  /* the header's address: offsets of functions count from it */
    uint64_t slide; /* address in memory minus address in the file's own numbering */
    uint64_t text_bytes;
    uint64_t unwind_info, unwind_info_bytes;
    uint64_t eh_frame, eh_frame_bytes;
    uint64_t function_starts, function_starts_bytes;
    uint64_t symbols, symbol_count; /* struct hd_macho_symbol */
    uint64_t strings, strings_bytes;
    uint64_t exports, exports_bytes;    /* the trie of exported names */
    uint64_t name;                      /* the install name of a dylib, a string */
    uint32_t name_bytes;                /* at most, with the terminator */
    uint32_t first_external, externals; /* among the symbols: defined, and visible to other images */
    struct hd_macho_range stubs[HD_MACHO_STUBS_MAX]; /* code between functions that calls other images */
    uint32_t stub_ranges;
    uint32_t cpu, cpu_subtype; /* HD_MACHO_CPU_* */
    uint32_t file_type;
    uint32_t platform, minimum, sdk; /* enum hd_macho_platform, X << 16 | Y << 8 | Z; 0: not known */
    uint8_t uuid[16];
    bool has_uuid;
    uint8_t fault; /* enum hd_macho_fault; after a success: the reason why a table is missing */
};

/* Reads the tables of the image with its header at `header`. 0; -EFAULT; -EINVAL: see out->fault. A section
 * or table outside its segment is left out, and the rest is read. */
int hd_macho_tables_read(const struct hd_memory *memory, uint64_t header, struct hd_macho_tables *out);

/* Whether `pc` is in code that has no unwind information and no frame. */
bool hd_macho_is_stub(const struct hd_macho_tables *t, uint64_t pc);

#endif
