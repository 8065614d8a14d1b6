/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: the options of hangdog attach.
 */
#include "cli/attach/attach_options.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/live/process.h"
#include "cli/run/watch_options.h"
#include "outside/hook.h"

#define OFFSET(member) offsetof(struct attach_options, member)
#define TO(member) .to = OFFSET(member)

static const struct command_option attach_options[] = {
    {.name = "unit",
     .letter = 'u',
     .kind = OPTION_TEXT,
     TO(unit),
     .value = "UNIT",
     .group = "Processes",
     .help = "those of a systemd unit, now and later",
     .more = "Their control group says so, as /proc/PID/cgroup has it."},
    {.name = "user",
     .kind = OPTION_TEXT,
     TO(user),
     .value = "USER",
     .help = "those of a user, now and later"},
    {.name = "all", .letter = 'a', .kind = OPTION_FLAG, TO(all), .help = "all of this host, now and later"},
    {.name = "wait",
     .letter = 'w',
     .kind = OPTION_FLAG,
     TO(wait),
     .help = "wait for a NAME: for its start, and each restart",
     .more = "A restart of a service does not end the watch. Ctrl-C or SIGTERM does."},
    {.name = "follow",
     .letter = 'f',
     .kind = OPTION_FLAG,
     TO(run.follow),
     .help = "children that the processes start from now on, too"},
    WATCH_OPTION_THRESHOLD(OFFSET(run.threshold_ns)),
    WATCH_OPTION_INTERVAL(OFFSET(run.interval_ns)),
    WATCH_OPTION_LOOP(OFFSET(run.loop)),
    {.name = "hook",
     .kind = OPTION_TEXT,
     TO(hook),
     .value = "NAME",
     .rare = true,
     .words = "fentry|switches|counter|records|looks",
     .help = "how the kernel reports waits (the best allowed, but not fentry)",
     .more = "hangdog doctor prints the way taken, and what a better one needs."},
    {.name = "json",
     .kind = OPTION_TEXT,
     TO(run.json),
     .value = "FILE",
     .optional = true,
     .completion = COMPLETE_FILE,
     .group = "Reports",
     .help = "each report as a line of JSON, on stdout or in FILE",
     .more =
         "Hangdog empties FILE at the start, and prints its text as ever. Without FILE the lines take the "
         "place of the text. The last ones are the reports of the sessions, one for each process."},
    {.name = "name",
     .kind = OPTION_TEXT,
     TO(run.name),
     .value = "NAME",
     .completion = COMPLETE_APP,
     .help = "name of the app (the script's, or the program's)"},
    WATCH_OPTION_APP_VERSION(OFFSET(run.app_version)),
    WATCH_OPTION_ENVIRONMENT(OFFSET(run.environment)),
    WATCH_OPTION_SPOOL(OFFSET(run.spool)),
    WATCH_OPTION_WITHOUT_PATHS(OFFSET(run.without_paths)),
    WATCH_OPTION_REPORTS_PER_DAY(OFFSET(run.reports_per_day)),
    WATCH_OPTION_REPORTS_PER_FINGERPRINT(OFFSET(run.reports_per_fingerprint)),
    WATCH_OPTION_ON_HANG(OFFSET(run.on_hang)),
    {0},
};

const struct command command_attach = {
    .name = "attach",
    .group = "Watch",
    .about = "Watch programs that already run, and show each hang as it ends",
    .usage = "[OPTIONS] PID|NAME...",
    .example = {{"attach 4711", "a server that hangs now and then"},
                {"attach nginx", "all processes of that name"},
                {"attach -u web.service -t 100ms", "those of a unit; short hangs too"}},
    .description =
        "The processes need no preparation and no restart. They are not stopped, not signalled and not traced, and "
        "nothing of Hangdog stays when it ends. It prints each hang as it ends, with the function that cost the "
        "time, and keeps a report in the spool, as hangdog run does.\n\n"
        "The kernel reports when threads wait. As root the times are exact. With fewer rights Hangdog looks at the "
        "threads instead. The report says by how much a time may be off. hangdog doctor lists what is allowed "
        "here, and the command that allows more. A hang that lasts at the start has lasted \"at least\" since then.\n\n"
        "Any thread may have a loop: Hangdog decides by what it waits for, and below which functions. Go has no "
        "thread that is a loop. SDL, Tcl and games wait in functions of a library, not in the kernel: hangdog run "
        "watches them. 32-bit programs cannot be watched.\n\n"
        "PIDs and names end with their processes. With --wait a name lasts. The watch of a unit, a user or --all lasts until Ctrl-C or "
        "SIGTERM. All end with a summary. Processes of another user, and where kernel.yama.ptrace_scope is not 0 "
        "all processes, need root.\n\n",
    .exit_status = "0\tthe watch ended with its processes, or by a signal\n"
                   "1\tno process could be watched, or not all that were named\n"
                   "2\twrong use\n",
    .environment = "HANGDOG_APP\tthe same as --name\n"
                   "HANGDOG_VERSION\tthe same as --app-version\n"
                   "HANGDOG_ENVIRONMENT\tthe same as --environment\n"
                   "DEBUGINFOD_URLS\tservers of debug information, for functions and lines\n",
    .operand = COMPLETE_RUNNING,
    .options = attach_options,
    .run = cmd_attach,
};

bool attach_options_is_group(const struct attach_options *o) {
    return o->all || o->unit != NULL || o->user != NULL;
}

bool attach_options_parse(int argc, char **argv, struct attach_options *o, int *status) {
    *o = (struct attach_options){
        .run = {.threshold_ns = WATCH_THRESHOLD_NS, .interval_ns = WATCH_INTERVAL_NS, .json_fd = -1}};
    int first = options_parse(&command_attach, o, argc, argv, status);
    if (first < 0) {
        return false;
    }
    if (first == argc && !attach_options_is_group(o)) {
        *status = options_wrong_use(&command_attach,
                                    "which process? A PID, a NAME, --unit UNIT, --user USER, or --all");
        return false;
    }
    bool named = attach_options_is_group(o);
    for (int i = first; i < argc; i++) {
        named |= !process_is_number(argv[i]);
    }
    if (o->wait && !named) {
        *status = options_wrong_use(&command_attach, "--wait: want a NAME; a PID ends with its process");
        return false;
    }
    *status = run_options_check(&command_attach, &o->run);
    o->run.quiet = options_quiet();
    o->run.program = argv + first;
    return *status == 0;
}
