/* SPDX-License-Identifier: MIT
 *
 * A JSON text with escapes or characters beyond ASCII, for fast_parse.h. Pure.
 */
#ifndef COLLECTOR_REPORT_FAST_TEXT_H
#define COLLECTOR_REPORT_FAST_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a text from behind the first quote to behind the last one. *at moves there, and `out` has the text's
 * *bytes in UTF-8. False: not a text, more than `size` bytes, or a zero character. */
bool fast_text_decode(const char **at, const char *end, char *out, size_t size, size_t *bytes);

#endif
