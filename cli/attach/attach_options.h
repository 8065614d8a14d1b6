/* SPDX-License-Identifier: MIT
 *
 * The options of hangdog attach. Ordinary code.
 */
#ifndef CLI_ATTACH_OPTIONS_H
#define CLI_ATTACH_OPTIONS_H

#include "cli/run/run_options.h"

struct attach_options {
    struct run_options run; /* options of both commands; `program` has the PIDs and names */
    const char *unit, *user;
    const char *hook; /* NULL: the best */
    bool all, wait;
};

/* The subcommand; attach_options.c has the table of options. */
int cmd_attach(int argc, char **argv);

/* False: the command ends with *status. */
bool attach_options_parse(int argc, char **argv, struct attach_options *o, int *status);

/* True: processes that start later may be watched too, so the watch lasts until a signal ends it. */
bool attach_options_is_group(const struct attach_options *o);

#endif
