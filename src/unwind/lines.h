/* SPDX-License-Identifier: MIT
 *
 * A small cache of memory that holds unwinding tables. A read of live memory is a system call, and the frames
 * of a stack lie in few modules: they share header, search steps and CIE. Worker: may run while a hang is on,
 * no allocation.
 */
#ifndef HD_UNWIND_LINES_H
#define HD_UNWIND_LINES_H

#include "image/modules.h"

#define HD_LINES 8u
#define HD_LINE_BYTES 1024u

struct hd_lines {
    struct hd_memory cached; /* to read by: tables only, which do not change while their module is mapped */
    const struct hd_memory *memory;
    uint64_t address[HD_LINES]; /* 0: empty */
    uint8_t bytes[HD_LINES][HD_LINE_BYTES];
};

/* `memory` stays valid for as long as the lines are used. */
void hd_lines_init(struct hd_lines *l, const struct hd_memory *memory);

/* Forgets everything: a module may have gone. */
void hd_lines_flush(struct hd_lines *l);

#endif
