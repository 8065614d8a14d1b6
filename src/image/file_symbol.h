/* SPDX-License-Identifier: MIT
 *
 * A function's address by its name in the full symbol table of a file, which also has functions that are not
 * exported. Worker; no allocation.
 */
#ifndef HD_IMAGE_FILE_SYMBOL_H
#define HD_IMAGE_FILE_SYMBOL_H

#include "base/types.h"

/* Returns the address that the full symbol table of the file at `path` has for the function `name`. The load
 * bias is not added. 0: the table does not have the function, or the code cannot read the file. */
uint64_t hd_file_symbol(const char *path, const char *name);

#endif
