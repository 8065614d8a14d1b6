/* SPDX-License-Identifier: MIT
 *
 * The abilities of a stream's terminal: colour, width, characters.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>

/* --color: "auto", "always", "never"; NULL: auto. */
void terminal_choose_colour(const char *when);

/* For what is written to `fd`. --color, NO_COLOR, CLICOLOR_FORCE, a terminal whose TERM is not dumb: the
 * first that says something decides. */
bool terminal_wants_colour(int fd);

/* COLUMNS, else the width of the terminal, else 80. */
int terminal_columns(int fd);

/* Stands for what was cut: one column. */
const char *terminal_ellipsis(void);

#endif
