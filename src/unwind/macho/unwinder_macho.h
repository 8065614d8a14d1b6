/* SPDX-License-Identifier: MIT
 *
 * The unwinder's tables for modules that are Mach-O images of this build's CPU: compact unwind information,
 * the FDEs that it refers to, and function starts. On the worker thread, also during a hang, so without
 * allocation.
 */
#ifndef HD_UNWIND_MACHO_UNWINDER_MACHO_H
#define HD_UNWIND_MACHO_UNWINDER_MACHO_H

#include "unwind/macho/compact.h"
#include "unwind/macho/starts.h"
#include "unwind/unwinder.h"

#define HD_MACHO_IMAGES 8u       /* the tables of so many modules are kept */
#define HD_MACHO_LOWEST_PC 4096u /* a lower return address ends the walk: page 0 has no code */

struct hd_macho_image {
    uint64_t header;   /* 0: unused */
    int error;         /* of the header: 0, or a negative errno value */
    int compact_error; /* of the table */
    struct hd_macho_tables tables;
    struct hd_compact compact;
    struct hd_starts starts;
};

struct hd_unwinder_macho {
    struct hd_unwinder u; /* the first member: functions cast */
    uint32_t flushes;     /* hd_unwinder.flushes at which the images were read */
    uint32_t next;        /* the image that the next new one replaces */
    struct hd_macho_image image[HD_MACHO_IMAGES];
};

/* Facts of an address. */
struct hd_macho_look {
    uint64_t start, stop; /* the function; 0: not known */
    uint8_t kind;         /* enum hd_compact_kind; HD_COMPACT_NULL also if there is no entry */
    bool stub;            /* code between functions that jumps to other images; it has no frame */
    struct hd_fde fde;    /* if kind is HD_COMPACT_DWARF */
};

/* Looks up pc in a module. *row is valid if the kind is HD_COMPACT_FRAME or HD_COMPACT_FRAMELESS. Returns 0;
 * -EFAULT: the tables cannot be read; -EINVAL: malformed, then out->start may still be known. */
int hd_macho_look(struct hd_unwinder *u, const struct hd_module *module, uint64_t pc, struct hd_row *row,
                  struct hd_macho_look *out);

/* Steps to the caller of a frame at which the tables are not the whole truth. `e` is the frame's rule.
 * Returns as hd_step does, or HD_STEP_BY_RULE. */
uint8_t hd_macho_step(struct hd_walker *w, const struct hd_cached_rule *e);

#endif
