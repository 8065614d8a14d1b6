/* SPDX-License-Identifier: MIT
 *
 * Reads a string from memory that may not be mapped. Worker; runs during a hang; no allocation.
 */
#ifndef HD_IMAGE_READ_STRING_H
#define HD_IMAGE_READ_STRING_H

#include "base/memory.h"

/* Copies a string of memory, at most n - 1 bytes, always terminated. 0; -EFAULT: nothing could be read. */
int hd_image_read_string(const struct hd_memory *memory, uint64_t address, char *dst, size_t n);

#endif
