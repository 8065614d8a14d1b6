/* SPDX-License-Identifier: MIT
 *
 * Options that `hangdog upload`, `upload-symbols` and `export --send` share. `options`: the struct of the
 * command's options; `when`: what the help says first.
 */
#ifndef CLI_FLEET_SEND_OPTIONS_H
#define CLI_FLEET_SEND_OPTIONS_H

#include "cli/base/options.h"

#define OPTION_TO(options)                                                                              \
    {                                                                                                   \
        .name = "to", .kind = OPTION_TEXT, .to = offsetof(struct options, to), .value = "URL",          \
        .help = "the collector, as hangdog serve prints it", .more = "HANGDOG_COLLECTOR stands for it." \
    }
#define OPTION_KEY(options, use)                                                                  \
    {                                                                                             \
        .name = "key", .kind = OPTION_TEXT, .to = offsetof(struct options, key), .value = "KEY",  \
        .help = "the collector's key for " use,                                                   \
        .more = "Other users see an option in the list of processes: HANGDOG_KEY stands for it, " \
                "and they do not see that."                                                       \
    }
#define OPTION_SPOOL(options)                                                                        \
    {                                                                                                \
        .name = "spool", .kind = OPTION_TEXT, .to = offsetof(struct options, spool), .value = "DIR", \
        .help = "the reports in DIR, not in every spool of yours", .completion = COMPLETE_FOLDER     \
    }
#define OPTION_RETRIES(options, when)                                                                   \
    {                                                                                                   \
        .name = "retries", .kind = OPTION_COUNT, .to = offsetof(struct options, retries), .value = "N", \
        .max = 1000, .help = when "try N more times (5)",                                               \
        .more = "The waits between grow, and are random. The other side may name the wait itself "      \
                "(Retry-After)."                                                                        \
    }
#define OPTION_CA(options, when)                                                                \
    {                                                                                           \
        .name = "ca", .kind = OPTION_TEXT, .to = offsetof(struct options, ca), .value = "FILE", \
        .help = when "trust this file's certificates", .completion = COMPLETE_FILE              \
    }

#endif
