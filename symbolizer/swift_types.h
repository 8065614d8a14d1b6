/* SPDX-License-Identifier: MIT
 *
 * Types of Swift's mangling. Only what a simple name needs is kept: types with names, and how many parameters
 * a function has.
 */
#ifndef SYMBOLIZER_SWIFT_TYPES_H
#define SYMBOLIZER_SWIFT_TYPES_H

#include "symbolizer/swift_nodes.h"

/* Each reads what follows its letter, which stands in the name. */
void swift_read_nominal(struct swift *s, char letter); /* a C O P V */
void swift_read_substitution(struct swift *s);         /* A */
void swift_read_builtin(struct swift *s);              /* B */
void swift_read_bound(struct swift *s);                /* G */
void swift_read_special_type(struct swift *s);         /* X */
void swift_read_annotation(struct swift *s);           /* Y */
void swift_read_implementation(struct swift *s);       /* I */
void swift_read_tuple(struct swift *s);                /* t */
void swift_read_protocol_list(struct swift *s);        /* p */

/* Makes another type of the type on the stack: optional, inout, metatype ... */
void swift_wrap_type(struct swift *s, enum swift_form form);

/* The parts of a function type on the stack. Returns its node, with the number of parameters. */
uint16_t swift_pop_function_type(struct swift *s);

/* y, or types with `_` behind the first. */
void swift_pop_type_list(struct swift *s);

/* y, then arguments with `_` between levels; and the conformances behind them. */
void swift_pop_arguments(struct swift *s);

#endif
