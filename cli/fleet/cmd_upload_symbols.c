/* SPDX-License-Identifier: MIT
 *
 * hangdog upload-symbols: the options. `uploader/` does the work.
 */
#include "cli/base/options.h"
#include "cli/commands.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/send_options.h"

#include <stddef.h>

static int cmd_upload_symbols(int argc, char **argv);

static const struct command_option symbols_options[] = {
    OPTION_TO(symbols_options),
    OPTION_KEY(symbols_options, "administering"),
    OPTION_RETRIES(symbols_options, ""),
    OPTION_CA(symbols_options, ""),
    {0},
};

const struct command command_upload_symbols = {
    .name = "upload-symbols",
    .group = "Fleet",
    .about = "Send debug files to a collector, which names its reports by them",
    .usage = "--to URL [OPTIONS] FILE...",
    .example = {{"upload-symbols --to http://[::1]:8437 shop", "a program with symbols"},
                {"upload-symbols --to https://a.org *.debug", "what strip took out"},
                {"upload-symbols --to https://a.org App.dSYM", "a program of macOS"}},
    .description =
        "A debug file is a program or a library that was not stripped, or what objcopy --only-keep-debug took out of one. "
        "The collector finds it by its build-id, so its name and folder do not matter.\n\n"
        "For programs of Apple's systems it is a dSYM bundle, a folder with some, or a Mach-O file. The UUID is the "
        "build-id. A file for several CPUs goes out as several files.\n\n"
        "The file goes out in compressed pieces. The next call continues one that was stopped. Reports that came before get "
        "their names, too.\n\n",
    .environment = "HANGDOG_COLLECTOR\tthe same as --to\n"
                   "HANGDOG_KEY\tthe same as --key: other users do not see it in the list of processes\n",
    .no_spool = true,
    .operand = COMPLETE_FILE,
    .options = symbols_options,
    .run = cmd_upload_symbols,
};

static int cmd_upload_symbols(int argc, char **argv) {
    struct symbols_options o = {0};
    int status, first = options_parse(&command_upload_symbols, &o, argc, argv, &status);
    if (first < 0) {
        return status;
    }
    if (first == argc) {
        return options_wrong_use(&command_upload_symbols, "which files? name one or more");
    }
    return fleet_start("hangdog-upload", argc, argv);
}
