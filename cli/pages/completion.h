/* SPDX-License-Identifier: MIT
 *
 * What shells offer when a user presses the tabulator, a script for each shell. What is known only then, the
 * apps, reports and processes, the scripts ask `hangdog __complete` for.
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
