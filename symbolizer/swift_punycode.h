/* SPDX-License-Identifier: MIT
 *
 * Punycode (RFC 3492) as Swift has it: `_` delimits, and the letters A to J stand for the digits 0 to 9.
 */
#ifndef SYMBOLIZER_SWIFT_PUNYCODE_H
#define SYMBOLIZER_SWIFT_PUNYCODE_H

#include <stddef.h>

/* Writes UTF-8 into out. Returns the bytes. 0: not well-formed, or no room. */
size_t swift_punycode(const char *in, size_t bytes, char *out, size_t room);

#endif
