/* SPDX-License-Identifier: MIT
 *
 * The compiler makes thunks, parts, specializations and outlined copies. This reads their letters.
 */
#ifndef SYMBOLIZER_SWIFT_THUNKS_H
#define SYMBOLIZER_SWIFT_THUNKS_H

#include "symbolizer/swift_nodes.h"

/* Each reads what follows its letter. */
void swift_read_thunk(struct swift *s);          /* T */
void swift_read_table(struct swift *s);          /* W */
void swift_read_metadata(struct swift *s);       /* M */
void swift_read_value_function(struct swift *s); /* w */

#endif
