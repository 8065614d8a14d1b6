/* SPDX-License-Identifier: MIT
 *
 * Text for stderr. While a program draws on that terminal it waits, for the program would draw over it.
 */
#ifndef CLI_PENDING_TEXT_H
#define CLI_PENDING_TEXT_H

#include "cli/reporter/printer_state.h"

/* Prints the text, or appends it to what waits. */
void pending_text_add(struct printer *r, const char *text, size_t bytes);
/* Prints what waits, if no program draws. When to call it again, UINT64_MAX: never. */
uint64_t pending_text_flush(struct printer *r, uint64_t now_ns);
/* Prints what waits. */
void pending_text_print(struct printer *r);

#endif
