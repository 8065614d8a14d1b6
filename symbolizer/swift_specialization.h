/* SPDX-License-Identifier: MIT
 *
 * Specializations of functions in Swift's mangling: they print as one word.
 */
#ifndef SYMBOLIZER_SWIFT_SPECIALIZATION_H
#define SYMBOLIZER_SWIFT_SPECIALIZATION_H

#include "symbolizer/swift_nodes.h"

/* At what follows `Tg`, `TG`, `TB`, `Ts`, `Ti`, `Tp`, `TP` (letter) or `Tt`. */
void swift_read_specialization(struct swift *s, char letter);

/* At what follows `Tf`. */
void swift_read_signature_specialization(struct swift *s);

#endif
