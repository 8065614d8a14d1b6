/* SPDX-License-Identifier: MIT
 *
 * The sections __interpose of the images: pairs of a replacement and a function. All images but the one with
 * the pair get the replacement.
 */
#ifndef APPLE_LOADER_INTERPOSE_H
#define APPLE_LOADER_INTERPOSE_H

#include "image.h"

/* After the fixups of the image. */
void interpose_add(const struct image *image);
/* The address that `user` gets for a function at `address`. */
uint64_t interpose_address(uint64_t address, const struct image *user);

#endif
