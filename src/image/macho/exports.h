/* SPDX-License-Identifier: MIT
 *
 * The exported names of a Mach-O image: a trie of their letters, which the loader searches too. Reads may
 * fail; any value is safe. Any thread; no allocation.
 */
#ifndef HD_IMAGE_MACHO_EXPORTS_H
#define HD_IMAGE_MACHO_EXPORTS_H

#include "image/macho/macho.h"

/* The address in memory of the function or variable `name`, as a C program writes it: the trie has it with an
 * underscore before. 0: the image does not export it, or takes it from another image. */
uint64_t hd_macho_export(const struct hd_memory *memory, const struct hd_macho_tables *t, const char *name);

#endif
