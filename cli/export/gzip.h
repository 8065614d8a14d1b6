/* SPDX-License-Identifier: MIT
 *
 * A file of gzip. Ordinary code.
 */
#ifndef CLI_EXPORT_GZIP_H
#define CLI_EXPORT_GZIP_H

#include <stddef.h>
#include <stdio.h>

/* 0, or -1 with errno: no memory, or `out` cannot be written. */
int gzip_write(FILE *out, const void *data, size_t bytes);

#endif
