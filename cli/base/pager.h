/* SPDX-License-Identifier: MIT
 *
 * A text that may be longer than the terminal.
 */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include <stddef.h>

/* Prints the text on stdout: through $PAGER, else less, where stdout is a terminal with fewer lines, as git
 * does. 0, or -1 with errno. */
int pager_print(const char *text, size_t bytes);

#endif
