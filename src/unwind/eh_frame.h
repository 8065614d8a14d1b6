/* SPDX-License-Identifier: MIT
 *
 * Finding call frame information: .eh_frame_hdr's sorted table, else .eh_frame from its beginning; CIE and
 * FDE records (LSB core specification, .eh_frame). Knows the file format, no machine. Worker: may run while a
 * hang is on, no allocation.
 */
#ifndef HD_UNWIND_EH_FRAME_H
#define HD_UNWIND_EH_FRAME_H

#include "base/types.h"
#include "image/modules.h"

struct hd_cie {
    uint64_t address;      /* of the record */
    uint64_t program, end; /* initial instructions */
    uint64_t code_align;
    int64_t data_align;
    uint32_t return_column;
    uint8_t fde_encoding;    /* DW_EH_PE_* of the addresses in its FDEs */
    bool sized_augmentation; /* 'z' */
    bool signal_frame;       /* 'S': the caller's pc is exact, not a return address */
};

struct hd_fde {
    uint64_t address;      /* of the record */
    uint64_t start, stop;  /* code that it describes: [start, stop) */
    uint64_t program, end; /* its instructions */
    struct hd_cie cie;
};

/* Where a module's tables are. */
struct hd_eh_table {
    uint64_t hdr;     /* .eh_frame_hdr */
    uint64_t frames;  /* .eh_frame */
    uint64_t limit;   /* nothing at or beyond it is read */
    uint64_t entries; /* sorted table, 0: none that can be searched */
    uint64_t count;
};

#define HD_EH_BYTES_MAX \
    (UINT64_C(1) << 30)           /* tables are not looked for further than this behind their header */
#define HD_EH_SCAN_MAX (1u << 18) /* functions looked at where there is no sorted table */

/* Reads the header. -ENOENT: no header; -EINVAL: not of a known version; -EFAULT. */
int hd_eh_table_open(const struct hd_memory *memory, uint64_t eh_frame_hdr, uint64_t limit,
                     struct hd_eh_table *out);

/* The FDE whose code holds pc. -ENOENT: none does; -EINVAL: malformed; *out is written on success only. */
int hd_eh_table_find(const struct hd_memory *memory, const struct hd_eh_table *t, uint64_t pc,
                     struct hd_fde *out);

/* The next FDE at or after *at in .eh_frame; *at moves past it. -ENOENT: no more. */
int hd_eh_frame_next(const struct hd_memory *memory, uint64_t *at, uint64_t limit, struct hd_fde *out);

#endif
