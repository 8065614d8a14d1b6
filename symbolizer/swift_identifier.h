/* SPDX-License-Identifier: MIT
 *
 * Identifiers of Swift's mangling: plain, with words of identifiers before, and encoded as Punycode.
 */
#ifndef SYMBOLIZER_SWIFT_IDENTIFIER_H
#define SYMBOLIZER_SWIFT_IDENTIFIER_H

#include "symbolizer/swift_nodes.h"

/* At a digit. Pushes the identifier and makes it a substitution. */
void swift_read_identifier(struct swift *s);

/* At what follows `o`. Makes an operator of the identifier on the stack. */
void swift_read_operator(struct swift *s);

/* At what follows `L`. Makes the identifier on the stack a local, private or related one. */
void swift_read_local(struct swift *s);

#endif
