/* SPDX-License-Identifier: MIT
 *
 * Finds the FDE of an address by the sorted table of .eh_frame_hdr, and reads CIE and FDE records (LSB core
 * specification, .eh_frame). The code is the same for each CPU. On the worker thread, also during a hang, so
 * without allocation.
 */
#ifndef HD_UNWIND_EH_FRAME_H
#define HD_UNWIND_EH_FRAME_H

#include "base/types.h"
#include "image/modules.h"

struct hd_cie {
    uint64_t address;      /* the record's address */
    uint64_t program, end; /* initial instructions: [program, end) */
    uint64_t code_align;
    int64_t data_align;
    uint32_t return_column;
    uint8_t fde_encoding;    /* DW_EH_PE_* of the addresses in its FDEs */
    bool sized_augmentation; /* 'z' */
    bool signal_frame;       /* 'S': the caller's pc is exact, because a signal interrupted the caller */
};

struct hd_fde {
    uint64_t address;      /* the record's address */
    uint64_t start, stop;  /* addresses of the code that the FDE describes: [start, stop) */
    uint64_t program, end; /* the FDE's instructions: [program, end) */
    struct hd_cie cie;
};

/* The addresses of a module's unwind tables. */
struct hd_eh_table {
    uint64_t hdr;     /* .eh_frame_hdr */
    uint64_t frames;  /* .eh_frame */
    uint64_t limit;   /* nothing at or beyond it is read */
    uint64_t entries; /* the sorted table; 0: the module has no table that can be searched */
    uint64_t count;   /* the number of entries of the sorted table */
};

#define HD_EH_BYTES_MAX (UINT64_C(1) << 30) /* tables end at most this far behind .eh_frame_hdr */
#define HD_EH_SCAN_MAX (1u << 18)           /* the most FDEs that a search without a sorted table reads */

/* Reads .eh_frame_hdr at address `eh_frame_hdr`. Returns 0; -ENOENT: the address is 0; -EFAULT: the header
 * cannot be read; -EINVAL: the header is malformed or has an unknown version. */
int hd_eh_table_open(const struct hd_memory *memory, uint64_t eh_frame_hdr, uint64_t limit,
                     struct hd_eh_table *out);

/* Finds the FDE that covers pc by the sorted table. Returns 0; -ENOENT: no FDE covers pc; -EINVAL: malformed;
 * -EFAULT: the table cannot be read. Writes *out on success only. */
int hd_eh_table_find(const struct hd_memory *memory, const struct hd_eh_table *t, uint64_t pc,
                     struct hd_fde *out);

/* Reads the next FDE at or after *at in .eh_frame, and moves *at behind the FDE. Returns 0; -ENOENT: there
 * are no more FDEs; -EINVAL: malformed. Set *out to zeros before the first call: its CIE is reused. */
int hd_eh_frame_next(const struct hd_memory *memory, uint64_t *at, uint64_t limit, struct hd_fde *out);

#endif
