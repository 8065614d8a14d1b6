/* SPDX-License-Identifier: MIT
 *
 * Finds the FDE of an address in an .eh_frame that has no sorted table, as static programs have. Reads the
 * section once, and keeps for each part of it which code the part describes. A search then reads the few
 * parts that may describe the address. The memory does not grow with the section. On the worker thread, also
 * during a hang, so without allocation.
 */
#ifndef HD_UNWIND_EH_INDEX_H
#define HD_UNWIND_EH_INDEX_H

#include "unwind/eh_frame.h"

#define HD_EH_PARTS 128u

struct hd_eh_part {
    uint64_t at;        /* the part's first record */
    uint64_t low, high; /* its FDEs describe code in [low, high) */
};

struct hd_eh_index {
    uint64_t frames; /* the section's address; 0: nothing is indexed */
    uint32_t count;
    uint64_t end;                            /* of the last part */
    struct hd_eh_part part[HD_EH_PARTS + 1]; /* by address */
};

/* As hd_eh_table_find, by t->frames and t->limit. Indexes the section first unless *x has the section. An
 * index is for one module at a time. */
int hd_eh_index_find(struct hd_eh_index *x, const struct hd_memory *memory, const struct hd_eh_table *t,
                     uint64_t pc, struct hd_fde *out);

#endif
