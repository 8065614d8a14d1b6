/* SPDX-License-Identifier: MIT
 *
 * Generic parameters, associated and opaque types, requirements and conformances.
 */
#ifndef SYMBOLIZER_SWIFT_GENERICS_H
#define SYMBOLIZER_SWIFT_GENERICS_H

#include "symbolizer/swift_nodes.h"

/* Each reads what follows its letter. */
void swift_read_parameter(struct swift *s);              /* q */
void swift_read_archetype(struct swift *s);              /* Q */
void swift_read_requirement(struct swift *s);            /* R */
void swift_read_signature(struct swift *s, bool counts); /* l r */
void swift_read_generic_type(struct swift *s);           /* u */
void swift_read_conformance(struct swift *s);            /* H */
void swift_read_retroactive(struct swift *s);            /* g */

/* A type, its protocol, the module of the conformance, and a signature. Returns the type. */
uint16_t swift_need_conforming_type(struct swift *s);

#endif
