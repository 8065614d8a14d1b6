/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: the options of hangdog run.
 */
#include "cli/run/run_options.h"

#include <string.h>

#include "cli/base/path.h"
#include "cli/run/program_check.h"
#include "record/record.h"

#define THRESHOLD_MS 500
#define INTERVAL_MS 50
#define REPORTS_MAX 1000000

/* Names on both sides of a colon that is there. */
static bool is_loop(const char *text) {
    size_t n = strlen(text), module = strcspn(text, ":");
    return module > 0 && module + 1 != n && n < HD_RECORD_STRING;
}

/* Of a folder too. */
static bool is_name(const char *text) {
    size_t n = strlen(text);
    return n > 0 && n < HD_RECORD_STRING && strchr(text, '/') == NULL && strcmp(text, ".") != 0 &&
           strcmp(text, "..") != 0;
}

/* 0, or the status of a wrong use. */
static int check(const struct run_options *o) {
    if (o->name != NULL && !is_name(o->name)) {
        return complain_usage("run", "--name takes 1 to %d bytes without a slash, not '%.300s'",
                              HD_RECORD_STRING - 1, o->name);
    }
    if (o->loop != NULL && !is_loop(o->loop)) {
        return complain_usage("run", "--loop takes MODULE or MODULE:FUNCTION, at most %d bytes, not '%s'",
                              HD_RECORD_STRING - 1, o->loop);
    }
    if (o->exec && (o->json || o->on_hang != NULL)) {
        return complain_usage("run", "--exec leaves nobody who could do what --%s asks for",
                              o->json ? "json" : "on-hang");
    }
    for (size_t i = 0; i < o->threads.count; i++) {
        size_t n = strlen(o->threads.text[i]);
        if (n >= HD_THREAD_NAME_BYTES) {
            return complain_usage("run", "--thread takes a name of 1 to %d bytes, not '%s'",
                                  HD_THREAD_NAME_BYTES - 1, o->threads.text[i]);
        }
    }
    return 0;
}

bool run_options_parse(int argc, char **argv, struct run_options *o, int *status) {
    const struct command_option options[] = {
        {.name = "threshold",
         .value = "MS",
         .number = {&o->threshold_ms, 10, 3600000},
         .help = "how long a turn of the loop may last before it is a hang (default 500)"},
        {.name = "interval",
         .value = "MS",
         .number = {&o->interval_ms, 1, 1000},
         .help = "between two looks at the stack (default 50)"},
        {.name = "spool",
         .value = "DIR",
         .text = &o->spool,
         .help = "where reports are kept (default $XDG_STATE_HOME/hangdog/NAME)"},
        {.name = "name",
         .value = "NAME",
         .text = &o->name,
         .help = "of the app in reports (default: the program's)"},
        {.name = "reports-per-day",
         .value = "N",
         .number = {&o->reports_per_day, 1, REPORTS_MAX},
         .help = "how many hangs of a day are told and have a report (default: all)"},
        {.name = "reports-per-fingerprint",
         .value = "N",
         .number = {&o->reports_per_fingerprint, 1, REPORTS_MAX},
         .help = "the same of hangs that are alike, and one more every 10 minutes (default: all). What\n"
                 "either held back is counted in the session's report"},
        {.name = "without-paths",
         .flag = &o->without_paths,
         .help = "leave out of reports the peers and files that a call waited for, and the folders of code\n"
                 "files outside of /usr, /lib and /opt; functions of such files have no names"},
        {.name = "loop",
         .value = "MODULE[:FUNCTION]",
         .text = &o->loop,
         .help = "the loop's own waits are those made by this library or program, and in this function;\n"
                 "all others are part of a turn. Without it the loop is recognised by what it does.\n"
                 "Examples: libuv, libglib-2.0:g_main_loop_run, my-server:wait_for_events"},
        {.name = "thread",
         .value = "NAME",
         .list = &o->threads,
         .help = "watches the threads of this name too (as in /proc/PID/task/*/comm), each with a loop\n"
                 "of its own; may be given up to 16 times"},
        {.name = "on-hang",
         .value = "COMMAND",
         .text = &o->on_hang,
         .help = "run by /bin/sh for each hang, when it ends or has lasted for 5 s, with the report's\n"
                 "path as $1 and $HANGDOG_REPORT; one at a time, its output on standard error.\n"
                 "The others wait; when the program has ended they have 5 s"},
        {.name = "exec",
         .flag = &o->exec,
         .help = "the program takes the place of this command and keeps its process number, for services.\n"
                 "Nothing is told then, reports are in the spool only, --on-hang and --json cannot be had,\n"
                 "and a hang that the program died in is reported at the next start with this spool"},
        {.name = "follow",
         .flag = &o->follow,
         .help =
             "watch the program's children too, forked or started, each on its own; those that go on when\n"
             "it has ended are named, and their reports kept"},
        {.name = "json",
         .flag = &o->json,
         .help =
             "tell each hang as one line of JSON, and at the end the session's. They are on standard error,\n"
             "between what the program writes there, and begin with {\"format\":\"hangdog-report/1\"; what\n"
             "else is said begins with \"hangdog: \". For a stream of its own: --on-hang 'cat \"$1\" >>FILE'"},
        {.name = "quiet", .flag = &o->quiet, .help = "tell nothing"},
        {0},
    };
    const struct command run = {
        .name = "run",
        .about =
            "Runs PROGRAM and watches the event loop of its main thread. Each hang is told on standard error as it\n"
            "ends, with the function that cost the time; its report is kept in the spool.",
        .usage = "[OPTIONS] [--] PROGRAM [ARGS...]",
        .stops = true,
        .options = options,
        .after =
            "The program's output, exit status and signals are its own. One without an event loop runs unreported,\n"
            "and one that takes no library (static, of another architecture or C library, set-user-id), or is of Go,\n"
            "runs unwatched, which is said. See also: hangdog list, hangdog show.\n\n"
            "\"No event loop was seen\": a thread's loop is where it waits (poll, select, epoll_wait) for the third\n"
            "time, 100 ms in all, and more than half of the time that it is blocked. It may be in another thread\n"
            "(--thread NAME), in a child (--follow), somewhere that does not look like one (--loop MODULE:FUNCTION),\n"
            "or wait by other means (a condition variable, io_uring), which cannot be watched.",
    };
    *o = (struct run_options){.threshold_ms = THRESHOLD_MS, .interval_ms = INTERVAL_MS};
    int first = options_parse(&run, argc, argv, status);
    if (first < 0) {
        return false;
    }
    if (first == argc) {
        *status = complain_usage("run", "no program was named");
        return false;
    }
    *status = check(o);
    if (*status != 0) {
        return false;
    }
    o->program = argv + first;
    o->name = o->name != NULL ? o->name : base_name(program_named(o->program));
    return true;
}
