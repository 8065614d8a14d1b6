/* SPDX-License-Identifier: MIT
 *
 * Man pages: of hangdog, and of a command.
 */
#ifndef CLI_PAGES_MAN_PAGE_H
#define CLI_PAGES_MAN_PAGE_H

#include <stdio.h>

#include "cli/base/options.h"

/* `all`: hangdog itself, with its commands. */
void man_page_write(FILE *out, const struct command *c, const struct command *all);

#endif
