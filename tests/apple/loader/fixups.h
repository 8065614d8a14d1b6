/* SPDX-License-Identifier: MIT
 *
 * Rebases and binds of an image: the opcodes of LC_DYLD_INFO, or chained fixups.
 */
#ifndef APPLE_LOADER_FIXUPS_H
#define APPLE_LOADER_FIXUPS_H

#include "image.h"

/* Returns the address that `name` has for an image; a weak one may be 0. */
typedef uint64_t fixups_resolve(const char *name, bool weak, void *arg);

/* Lazy pointers are bound too. */
void fixups_apply(struct image *image, fixups_resolve *resolve, void *arg);

#endif
