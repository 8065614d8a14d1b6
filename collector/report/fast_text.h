/* SPDX-License-Identifier: MIT
 *
 * A JSON text with escapes or characters beyond ASCII, for fast_parse.h. Pure.
 */
#ifndef COLLECTOR_REPORT_FAST_TEXT_H
#define COLLECTOR_REPORT_FAST_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Reads from behind the opening quote to behind the closing one. *at moves there, and `out` has the text's
 * *bytes in UTF-8. False: it is none, has more than `size` bytes, or a zero character. */
bool fast_text_decode(const char **at, const char *end, char *out, size_t size, size_t *bytes);

#endif
