/* SPDX-License-Identifier: MIT
 *
 * The function that an address is in, by LC_FUNCTION_STARTS. The list can be read from its start only, so
 * positions in it are kept: a search then reads one part of the list. On the worker thread, also during a
 * hang, so without allocation.
 */
#ifndef HD_UNWIND_MACHO_STARTS_H
#define HD_UNWIND_MACHO_STARTS_H

#include "image/macho/function_starts.h"

#define HD_STARTS_MARKS 64u

struct hd_starts {
    struct hd_function_starts mark[HD_STARTS_MARKS]; /* positions at about equal distances in the list */
    uint32_t count;
};

/* Reads the whole list. An image without a list has no marks. */
void hd_starts_open(struct hd_starts *s, const struct hd_memory *memory,
                    const struct hd_macho_tables *tables);

/* Finds the function that has pc: [*start, *stop). False: no function is known there. */
bool hd_starts_find(const struct hd_starts *s, const struct hd_memory *memory, uint64_t pc, uint64_t *start,
                    uint64_t *stop);

#endif
