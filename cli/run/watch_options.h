/* SPDX-License-Identifier: MIT
 *
 * Rows of the options that `hangdog run` and `hangdog attach` share. `offset`: of the option's member in the
 * command's options.
 */
#ifndef CLI_WATCH_OPTIONS_H
#define CLI_WATCH_OPTIONS_H

#include "cli/base/duration.h"
#include "cli/base/options.h"

#define WATCH_THRESHOLD_NS (500 * DURATION_MS)
#define WATCH_INTERVAL_NS (50 * DURATION_MS)
#define WATCH_REPORTS_MAX 1000000

#define WATCH_OPTION_THRESHOLD(offset)                                                                \
    {                                                                                                 \
        .name = "threshold", .letter = 't', .kind = OPTION_DURATION, .to = (offset), .value = "TIME", \
        .min = 10 * DURATION_MS, .max = DURATION_H, .group = "Watching",                              \
        .help = "a turn of the loop this long is a hang (500ms)"                                      \
    }

#define WATCH_OPTION_INTERVAL(offset)                                                                     \
    {                                                                                                     \
        .name = "interval", .kind = OPTION_DURATION, .to = (offset), .value = "TIME", .min = DURATION_MS, \
        .max = DURATION_S, .rare = true, .help = "time between two samples of the stack (50ms)"           \
    }

#define WATCH_OPTION_LOOP(offset)                                                                                   \
    {                                                                                                               \
        .name = "loop", .kind = OPTION_TEXT, .to = (offset), .value = "MODULE[:FUNC]",                              \
        .help = "the loop waits in this library, program, function",                                                \
        .more =                                                                                                     \
            "Every other wait is part of a turn. Without this option Hangdog recognises the loop by what it does. " \
            "Examples: libuv, libglib-2.0:g_main_loop_run, my-server:wait_for_events."                              \
    }

#define WATCH_OPTION_APP_VERSION(offset)                                                                                 \
    {                                                                                                                    \
        .name = "app-version", .kind = OPTION_TEXT, .to = (offset), .value = "TEXT",                                     \
        .help = "version of the app, which reports are compared by",                                                     \
        .more =                                                                                                          \
            "The default is the version in package.json, the tag or commit of the git repository that has the program, " \
            "or the version of its Debian package. Without any of these, the program's "                                 \
            "build-id is the version, if the program is not an interpreter. $HANGDOG_VERSION has the same meaning."      \
    }

#define WATCH_OPTION_ENVIRONMENT(offset)                                                           \
    {                                                                                              \
        .name = "environment", .kind = OPTION_TEXT, .to = (offset), .rare = true, .value = "TEXT", \
        .help = "where the app runs, as production or staging",                                    \
        .more = "$HANGDOG_ENVIRONMENT has the same meaning."                                       \
    }

#define WATCH_OPTION_SPOOL(offset)                                                                           \
    {                                                                                                        \
        .name = "spool", .kind = OPTION_TEXT, .to = (offset), .value = "DIR", .completion = COMPLETE_FOLDER, \
        .help = "folder of the reports (~/.local/state/hangdog/NAME)"                                        \
    }

#define WATCH_OPTION_WITHOUT_PATHS(offset)                                                                                  \
    {                                                                                                                       \
        .name = "without-paths", .kind = OPTION_FLAG, .to = (offset),                                                       \
        .help = "no folders of yours and no peers in reports",                                                              \
        .more =                                                                                                             \
            "The report leaves out the peers and files that a call waited for, the text of an exception, and the folders "  \
            "of code files outside of /usr, /lib and /opt. Functions of such files have no names. It keeps paths in these " \
            "three, because names are looked up there, base names of the program and its code files, and names of "         \
            "functions, threads and children."                                                                              \
    }

#define WATCH_OPTION_REPORTS_PER_DAY(offset)                                                     \
    {                                                                                            \
        .name = "reports-per-day", .kind = OPTION_COUNT, .to = (offset), .value = "N", .min = 1, \
        .max = WATCH_REPORTS_MAX, .help = "most reports of a day (all)",                         \
        .more = "The session's report counts the hangs without a report."                        \
    }

#define WATCH_OPTION_REPORTS_PER_FINGERPRINT(offset)                                                         \
    {                                                                                                        \
        .name = "reports-per-fingerprint", .kind = OPTION_COUNT, .to = (offset), .rare = true, .value = "N", \
        .min = 1, .max = WATCH_REPORTS_MAX, .help = "the same of hangs that are alike (all)",                \
        .more = "One more report of such hangs is written every 10 minutes."                                 \
    }

#define WATCH_OPTION_ON_HANG(offset)                                                                                \
    {                                                                                                               \
        .name = "on-hang", .kind = OPTION_TEXT, .to = (offset), .value = "COMMAND",                                 \
        .completion = COMPLETE_PROGRAM, .help = "run for each report, its file in $1",                              \
        .more =                                                                                                     \
            "/bin/sh runs the command when a hang ends or has lasted for 5 s. The path of the report is $1 and "    \
            "$HANGDOG_REPORT. One command runs at a time, its output goes to standard error, and when the program " \
            "has ended the rest have 5 s."                                                                          \
    }

#endif
