/* SPDX-License-Identifier: MIT
 *
 * The symbol table of a Mach-O image. Each search reads the whole table. Reads may fail; any value is safe.
 * Any thread; no allocation.
 */
#ifndef HD_IMAGE_MACHO_SYMBOLS_H
#define HD_IMAGE_MACHO_SYMBOLS_H

#include "image/macho/macho.h"

struct hd_macho_found {
    uint64_t address; /* in memory */
    uint32_t name;    /* offset in the strings */
    uint8_t section;  /* number of the section, from 1 */
    bool external;
};

/* The symbol with the greatest address at or below `pc`; of several one that is visible to other images.
 * Debugging entries do not count. False: there is none, or the table cannot be read. */
bool hd_macho_symbol_at(const struct hd_memory *memory, const struct hd_macho_tables *t, uint64_t pc,
                        struct hd_macho_found *out);

/* The symbol `name`, spelled as in the table, so with C's underscore. False: there is none. */
bool hd_macho_symbol_named(const struct hd_memory *memory, const struct hd_macho_tables *t, const char *name,
                           struct hd_macho_found *out);

/* Copies a symbol's name, truncated to n - 1 bytes. 0; -EFAULT. */
int hd_macho_symbol_name(const struct hd_memory *memory, const struct hd_macho_tables *t, uint32_t name,
                         char *dst, size_t n);

#endif
