/* SPDX-License-Identifier: MIT
 * Writes the completion scripts of shells. Apps, reports and processes are known only when the user presses
 * Tab: for these a script calls `hangdog __complete`.
 */
#ifndef CLI_PAGES_COMPLETION_H
#define CLI_PAGES_COMPLETION_H

#include <stdio.h>

#include "cli/base/options.h"

void completion_write_bash(FILE *out, const struct command *all);
void completion_write_zsh(FILE *out, const struct command *all);
void completion_write_fish(FILE *out, const struct command *all);

/* The word after `hangdog __complete`; NULL: the shell knows by itself. */
const char *completion_asks_for(enum completion what);

#endif
