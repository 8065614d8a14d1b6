/* SPDX-License-Identifier: MIT
 *
 * Options of the commands that read many reports. `options`: the struct of the command's options.
 */
#ifndef CLI_SUMMARY_OPTIONS_H
#define CLI_SUMMARY_OPTIONS_H

#include "cli/base/options.h"

#define OPTION_SINCE(options, member, more_)                                                           \
    {                                                                                                  \
        .name = "since", .kind = OPTION_TEXT, .to = offsetof(struct options, member), .value = "WHEN", \
        .help = "no older ones: 2h, 3d, today, yesterday, 2026-11-20", .more = (more_)                 \
    }
#define OPTION_OF_APP(options, member)                                                               \
    {                                                                                                \
        .name = "app", .kind = OPTION_TEXT, .to = offsetof(struct options, member), .value = "NAME", \
        .help = "of this app", .completion = COMPLETE_APP                                            \
    }
#define OPTION_READ_SPOOL(options, member)                                                            \
    {                                                                                                 \
        .name = "spool", .kind = OPTION_TEXT, .to = offsetof(struct options, member), .value = "DIR", \
        .help = "the reports in DIR, not in every spool of yours", .completion = COMPLETE_FOLDER      \
    }
#define OPTION_VERBOSE(options, member)                                                                \
    {                                                                                                  \
        .name = "verbose", .letter = 'v', .kind = OPTION_FLAG, .to = offsetof(struct options, member), \
        .help = "an error for each file that is no report"                                             \
    }

#endif
