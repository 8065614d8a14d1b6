/* SPDX-License-Identifier: MIT
 *
 * The option --symbols of the commands that name functions. `options`: the struct of the command's options,
 * with a member `symbols`.
 */
#ifndef CLI_SYMBOLS_OPTION_H
#define CLI_SYMBOLS_OPTION_H

#include "cli/base/options.h"

#define OPTION_SYMBOLS(options, member)                                                                      \
    {                                                                                                        \
        .name = "symbols", .kind = OPTION_TEXT, .to = offsetof(struct options, member), .value = "DIR",      \
        .help = "names for Apple's programs: dSYM files below DIR", .completion = COMPLETE_FOLDER,           \
        .more = "DIR may be several folders with colons between. The UUID of a report's module selects the " \
                "file. Without the option $HANGDOG_SYMBOLS names the folders."                               \
    }

/* The line of a man page, for struct command. */
#define SYMBOLS_ENVIRONMENT "HANGDOG_SYMBOLS\tthe same as --symbols\n"

/* The folders: those of the option, else those of $HANGDOG_SYMBOLS, else NULL. */
const char *symbols_folders(const char *option);

/* For symbolizer_options.on_wait: says on a terminal why nothing is printed yet. */
void symbols_say_wait(void);

#endif
