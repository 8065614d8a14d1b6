/* SPDX-License-Identifier: MIT
 *
 * Functions, variables, accessors, closures and other entities of Swift's mangling.
 */
#ifndef SYMBOLIZER_SWIFT_ENTITIES_H
#define SYMBOLIZER_SWIFT_ENTITIES_H

#include "symbolizer/swift_nodes.h"

/* Each reads what follows its letter. */
void swift_read_function(struct swift *s);        /* F */
void swift_read_variable(struct swift *s);        /* v */
void swift_read_subscript(struct swift *s);       /* i */
void swift_read_function_entity(struct swift *s); /* f */
void swift_read_extension(struct swift *s);       /* E */
void swift_read_static(struct swift *s);          /* Z */

#endif
