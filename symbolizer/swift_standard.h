/* SPDX-License-Identifier: MIT
 *
 * Types of Swift's standard library that have a letter in the mangling.
 */
#ifndef SYMBOLIZER_SWIFT_STANDARD_H
#define SYMBOLIZER_SWIFT_STANDARD_H

#include "symbolizer/swift_nodes.h"

/* Reads what follows `S`: a type, a module of C, or `g` for an optional. */
void swift_read_standard(struct swift *s);

#endif
