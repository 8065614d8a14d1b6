/* SPDX-License-Identifier: MIT
 *
 * Text for man: the characters that mean something to roff are escaped.
 */
#ifndef CLI_PAGES_ROFF_H
#define CLI_PAGES_ROFF_H

#include <stddef.h>
#include <stdio.h>

void roff_text(FILE *out, const char *text, size_t bytes);
void roff_string(FILE *out, const char *text);
/* "Text." with a capital letter and a full stop. */
void roff_sentence(FILE *out, const char *text);
/* .TH */
void roff_title(FILE *out, const char *name, int section);

#endif
