/* SPDX-License-Identifier: MIT
 *
 * The commands. The file of each has its table of options.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/base/options.h"

extern const struct command command_run, command_attach, command_top, command_dump, command_list,
    command_stats, command_show, command_serve, command_upload, command_upload_symbols, command_agent,
    command_export, command_doctor, command_complete;

/* Options that a user may write before a command's name. */
struct before_command {
    bool json;
    const char *spool;
};

/* hangdog itself: the options before a command's name, and in `commands` all of them. */
extern const struct command command_hangdog;

#endif
