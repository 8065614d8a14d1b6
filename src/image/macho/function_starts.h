/* SPDX-License-Identifier: MIT
 *
 * Where the functions of a Mach-O image begin (LC_FUNCTION_STARTS), in the order of their addresses. Reads
 * may fail; any value is safe. Any thread; no allocation.
 */
#ifndef HD_IMAGE_MACHO_FUNCTION_STARTS_H
#define HD_IMAGE_MACHO_FUNCTION_STARTS_H

#include "image/macho/macho.h"

/* A position in the list. A copy of it is a position too, from which a later search may continue. */
struct hd_function_starts {
    uint64_t at, end; /* the next entry's address, and the table's end */
    uint64_t start;   /* of the function that was read last, in memory; at first: the header */
    uint64_t limit;   /* no function begins here or above */
};

void hd_function_starts_init(struct hd_function_starts *s, const struct hd_macho_tables *t);

/* Moves to the next function. False: there is none, or the table is broken or unreadable. */
bool hd_function_starts_next(struct hd_function_starts *s, const struct hd_memory *memory);

/* Moves on to the last function that begins at or below `pc`, and stores its start. Stores in *end where the
 * next function or __TEXT's end is. A later search of a higher address may continue from `s`. False: no
 * function after the position of `s` begins there. */
bool hd_function_starts_find(struct hd_function_starts *s, const struct hd_memory *memory, uint64_t pc,
                             uint64_t *start, uint64_t *end);

#endif
