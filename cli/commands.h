/* SPDX-License-Identifier: MIT
 *
 * The subcommands.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

/* One subcommand each: argv[0] is its name. Returns the exit status. */
int cmd_run(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_show(int argc, char **argv);

#endif
