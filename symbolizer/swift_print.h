/* SPDX-License-Identifier: MIT
 *
 * The text of an entity of Swift: no modules, types and generic parameters, as crash reports of Apple have
 * it.
 */
#ifndef SYMBOLIZER_SWIFT_PRINT_H
#define SYMBOLIZER_SWIFT_PRINT_H

#include "symbolizer/swift_nodes.h"

/* The nodes on the stack: one entity with its attributes. Returns the bytes, with a final 0 behind them; 0:
 * not an entity that has a text, or no room. */
size_t swift_print(const struct swift *s, char *out, size_t room);

#endif
