/* SPDX-License-Identifier: MIT
 *
 * A small cache of unwind tables. Each read of live memory is a system call. The frames of a stack lie in few
 * modules, so that their searches read the same headers, table entries and CIEs. On the worker thread, also
 * during a hang, so without allocation.
 */
#ifndef HD_UNWIND_LINES_H
#define HD_UNWIND_LINES_H

#include "image/modules.h"

#define HD_LINES 8u
#define HD_LINE_BYTES 1024u

struct hd_lines {
    struct hd_memory cached;        /* reads through the cache; only for unwind tables, which never change */
    const struct hd_memory *memory; /* the memory that the cache reads */
    uint64_t address[HD_LINES];     /* each line's address; 0: the line is empty */
    uint8_t bytes[HD_LINES][HD_LINE_BYTES];
};

/* `memory` must stay valid as long as the cache is in use. */
void hd_lines_init(struct hd_lines *l, const struct hd_memory *memory);

/* Empties the cache. For use after a module may have been unloaded. */
void hd_lines_flush(struct hd_lines *l);

#endif
