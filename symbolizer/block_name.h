/* SPDX-License-Identifier: MIT
 *
 * Names of blocks in methods of Objective-C.
 */
#ifndef SYMBOLIZER_BLOCK_NAME_H
#define SYMBOLIZER_BLOCK_NAME_H

/* Clang names a block `__42-[Class sel:]_block_invoke`: 42 is the length of the method's name. Returns the
 * part from the method; of another name, the name. */
const char *block_name(const char *name);

#endif
