/* SPDX-License-Identifier: MIT
 *
 * A command's help: 25 lines of 80 columns at most, examples first.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/base/options.h"

void help_print(FILE *out, const struct command *c);

/* "-n, --lines N", or "    --json". In `text`, which is returned. */
#define HELP_WORDS_BYTES 96
const char *help_words(char text[HELP_WORDS_BYTES], const struct command_option *o);

#endif
