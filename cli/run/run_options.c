/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: the options of hangdog run.
 */
#include "cli/run/run_options.h"

#include <string.h>

#include "cli/base/duration.h"
#include "cli/commands.h"
#include "cli/run/watch_options.h"
#include "recognise/loop_option.h"
#include "record/record.h"

#define LAUNCH_NS (3 * DURATION_S)

#define TO(member) .to = offsetof(struct run_options, member)

static const struct command_option run_options[] = {
    WATCH_OPTION_THRESHOLD(offsetof(struct run_options, threshold_ns)),
    {.name = "launch",
     .kind = OPTION_DURATION,
     TO(launch_ns),
     .value = "TIME",
     .min = 10 * DURATION_MS,
     .max = DURATION_H,
     .help = "a start this long is a slow launch (3s)",
     .more = "The start lasts until the loop waits for the first time. Time in which the program waits for "
             "input from its terminal does not count. A program without a loop has no launch."},
    WATCH_OPTION_INTERVAL(offsetof(struct run_options, interval_ns)),
    WATCH_OPTION_LOOP(offsetof(struct run_options, loop)),
    {.name = "thread",
     .kind = OPTION_LIST,
     TO(threads),
     .value = "NAME",
     .help = "watch threads of this name too; up to 16 times",
     .more = "The name is that of /proc/PID/task/TID/comm. Each such thread has a loop of its own. "
             "Without this option, tokio's workers are watched where the main thread has no loop."},
    {.name = "follow",
     .letter = 'f',
     .kind = OPTION_FLAG,
     TO(follow),
     .help = "watch child processes too",
     .more =
         "Each child has reports of its own, whether the program forks it or starts another program in it. "
         "Hangdog names the children that still run when the program has ended, and keeps their reports."},
    {.name = "exec",
     .kind = OPTION_FLAG,
     TO(exec),
     .help = "become the program: it keeps this process number",
     .more = "Hangdog prints nothing then, and reports are in the spool only. The next start with this spool "
             "reports a hang in which the program died."},
    {.name = "keep-alive",
     .kind = OPTION_FLAG,
     TO(keep_alive),
     .help = "answer systemd's watchdog while the loop turns",
     .more =
         "For a unit with WatchdogSec=, in place of the program's own messages. Each quarter of that time Hangdog "
         "sends WATCHDOG=1, but not in a hang: systemd then ends the program, and the report is in the spool "
         "before. Without --exec the unit needs NotifyAccess=all."},
    {.name = "json",
     .kind = OPTION_TEXT,
     TO(json),
     .value = "FILE",
     .optional = true,
     .completion = COMPLETE_FILE,
     .group = "Reports",
     .help = "each report as a line of JSON, on stderr or in FILE",
     .more =
         "Hangdog empties FILE at the start, and prints its text as ever. Without FILE the lines take the place of "
         "the text on standard error. The last one is the report of the session. They start with {\"format\":\"hangdog-report/1\", and all else that Hangdog "
         "prints starts with \"hangdog: \"."},
    {.name = "name",
     .kind = OPTION_TEXT,
     TO(name),
     .value = "NAME",
     .completion = COMPLETE_APP,
     .help = "name of the app (the script's, or the program's)",
     .more =
         "The default is what people call the program: for python3 server.py it is server.py, for node and npm the "
         "name in package.json. Children have the name too, if the user gave it. $HANGDOG_APP has the same meaning."},
    WATCH_OPTION_APP_VERSION(offsetof(struct run_options, app_version)),
    WATCH_OPTION_ENVIRONMENT(offsetof(struct run_options, environment)),
    WATCH_OPTION_SPOOL(offsetof(struct run_options, spool)),
    WATCH_OPTION_WITHOUT_PATHS(offsetof(struct run_options, without_paths)),
    {.name = "crash",
     .kind = OPTION_FLAG,
     TO(crash),
     .help = "report crashes, too",
     .more =
         "A signal that the program handles itself keeps its handler: Python's faulthandler, a JVM. The core dump "
         "still happens."},
    {.name = "frame-drop",
     .kind = OPTION_DURATION,
     TO(frame_drop_ns),
     .rare = true,
     .value = "TIME",
     .min = 10 * DURATION_MS,
     .max = DURATION_S,
     .help = "report a frame that takes this long, too",
     .more =
         "For a game or another program that presents frames (SDL, GLFW, EGL, GLX, Vulkan). A frame that takes "
         "as long as --threshold is a hang. The session's report has the frames in any case."},
    {.name = "display-hz",
     .kind = OPTION_COUNT,
     TO(display_hz),
     .rare = true,
     .value = "N",
     .min = 1,
     .max = 1000,
     .help = "refreshes of the display in a second (60)"},
    {.name = "cpu",
     .kind = OPTION_DURATION,
     TO(cpu_ns),
     .value = "TIME",
     .min = 100 * DURATION_MS,
     .max = DURATION_H,
     .help = "report a thread that uses a CPU for twice this; 3s",
     .more =
         "Once a period the use of the process is read. Over 80% of a CPU, the busiest thread is sampled for another "
         "period, and has a report if that is over 80%, too. Then there is none for 20 periods. A watched thread's report "
         "has its call tree. Another thread gets no signal: its stack is read only when it waits."},
    WATCH_OPTION_REPORTS_PER_DAY(offsetof(struct run_options, reports_per_day)),
    WATCH_OPTION_REPORTS_PER_FINGERPRINT(offsetof(struct run_options, reports_per_fingerprint)),
    WATCH_OPTION_ON_HANG(offsetof(struct run_options, on_hang)),
    {0},
};

const struct command command_run = {
    .name = "run",
    .group = "Watch",
    .about = "Run a program, watch its event loop, and show each hang as it ends",
    .usage = "[OPTIONS] [--] PROGRAM [ARGUMENT...]",
    .example = {{"run -- ./server -p 80", "watch a program"},
                {"run -t 100ms -f -- ./app", "short hangs too, and those of its children"}},
    .description =
        "Hangdog preloads a library into the program, which watches the event loop of the main thread. It prints "
        "each hang on standard error as it ends, with the function that cost the time, and keeps a report in the "
        "spool. The program's output, exit status and signals are its own.\n\n"
        "A program that takes no library runs unwatched, and Hangdog says so: a static program, one of another "
        "architecture or C library, a set-user-id one, and one written in Go.\n\n"
        "Hangdog sees where a thread waits (poll, select, epoll_wait), on which descriptors, and below which functions, and decides "
        "by that evidence which wait is the loop's own. Where Hangdog saw no event loop, the loop may be in another "
        "thread (--thread), in a child (--follow), or at a wait that does not look like one (--loop). A loop that "
        "waits by io_uring has no wait in the C library: hangdog attach watches it. One that waits for a condition "
        "variable cannot be watched.\n\n",
    .exit_status =
        "N\tthe program's own; 128 and the number of the signal that ended it, where the signal does not "
        "end hangdog too\n"
        "125\twrong use, or Hangdog failed before the program started\n"
        "126\tthe program cannot be run\n"
        "127\tthe program was not found\n",
    .environment = "HANGDOG_APP\tthe same as --name\n"
                   "HANGDOG_VERSION\tthe same as --app-version\n"
                   "HANGDOG_ENVIRONMENT\tthe same as --environment\n",
    .stops = true,
    .wrong_use = 125,
    .operand = COMPLETE_PROGRAM,
    .options = run_options,
    .run = cmd_run,
};

int run_options_check(const struct command *command, const struct run_options *o) {
    if (o->name != NULL && !app_name_is_valid(o->name)) {
        return options_wrong_use(command, "--name '%.300s': want 1 to %d bytes without a slash", o->name,
                                 HD_RECORD_STRING - 1);
    }
    if ((o->app_version != NULL && strlen(o->app_version) >= HD_APP_TEXT) ||
        (o->environment != NULL && strlen(o->environment) >= HD_APP_TEXT)) {
        return options_wrong_use(command, "--app-version and --environment: want at most %d bytes",
                                 HD_APP_TEXT - 1);
    }
    if (o->loop != NULL && !hd_loop_option_is_valid(o->loop)) {
        return options_wrong_use(command, "--loop '%.300s': want MODULE or MODULE:FUNCTION, at most %d bytes",
                                 o->loop, HD_RECORD_STRING - 1);
    }
    for (size_t i = 0; i < o->threads.count; i++) {
        if (strlen(o->threads.text[i]) >= HD_THREAD_NAME_BYTES) {
            return options_wrong_use(command, "--thread '%.300s': want a name of 1 to %d bytes",
                                     o->threads.text[i], HD_THREAD_NAME_BYTES - 1);
        }
    }
    return 0;
}

/* Of this command only. 0, or the status of a wrong use. */
static int check(const struct run_options *o) {
    if (o->json != NULL && strcmp(o->json, "-") == 0) {
        return options_wrong_use(&command_run, "--json '-': want a file; standard output is the program's");
    }
    if (o->exec && (o->json != NULL || o->on_hang != NULL)) {
        return options_wrong_use(&command_run, "--exec and --%s exclude each other",
                                 o->json != NULL ? "json" : "on-hang");
    }
    return run_options_check(&command_run, o);
}

bool run_options_parse(int argc, char **argv, struct run_options *o, int *status) {
    *o = (struct run_options){
        .threshold_ns = WATCH_THRESHOLD_NS, .launch_ns = LAUNCH_NS, .interval_ns = WATCH_INTERVAL_NS};
    int first = options_parse(&command_run, o, argc, argv, status);
    if (first < 0) {
        return false;
    }
    if (first == argc) {
        *status = options_wrong_use(&command_run, "which program?");
        return false;
    }
    *status = check(o);
    if (*status != 0) {
        return false;
    }
    o->quiet = options_quiet();
    o->program = argv + first;
    app_identity_find(o->name, o->app_version, o->environment, o->program, &o->app);
    o->name = o->app.name;
    return true;
}
