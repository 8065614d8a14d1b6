/* SPDX-License-Identifier: MIT
 *
 * The options --symbols and --no-symbols of the commands that name functions. `options`: the struct of the
 * command's options.
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

#define OPTION_NO_SYMBOLS(options, member)                                                 \
    {                                                                                      \
        .name = "no-symbols", .kind = OPTION_FLAG, .to = offsetof(struct options, member), \
        .help = "modules and offsets in place of functions: faster"                        \
    }

/* The line of a man page, for struct command. */
#define SYMBOLS_ENVIRONMENT "HANGDOG_SYMBOLS\tthe same as --symbols\n"

/* The folders: those of the option, else those of $HANGDOG_SYMBOLS, else NULL. */
const char *symbols_folders(const char *option);

/* For symbolizer_options.on_wait: says on a terminal why nothing is printed yet. */
void symbols_say_wait(void);

#endif
