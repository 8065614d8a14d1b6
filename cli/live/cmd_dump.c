/* SPDX-License-Identifier: MIT
 *
 * hangdog dump: the stacks of all threads of a running process, now, without stopping it. Ordinary code.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory_limit.h"
#include "cli/base/options.h"
#include "cli/base/sanitize.h"
#include "cli/commands.h"
#include "cli/live/dump_text.h"
#include "cli/live/live_report.h"
#include "cli/live/motion.h"
#include "cli/live/process.h"
#include "cli/live/tasks.h"
#include "cli/reader/symbols_option.h"
#include "os/os.h"

static int cmd_dump(int argc, char **argv);

struct options {
    bool json, all_frames, running, no_symbols;
    int64_t watch_ns;
};

static const struct command_option dump_options[] = {
    {.name = "all-frames",
     .kind = OPTION_FLAG,
     .to = offsetof(struct options, all_frames),
     .help = "the frames of runtimes and libraries, too"},
    {.name = "running",
     .kind = OPTION_FLAG,
     .to = offsetof(struct options, running),
     .help = "stop running threads for copies of their stacks (ptrace)"},
    {.name = "watch",
     .kind = OPTION_DURATION,
     .to = offsetof(struct options, watch_ns),
     .value = "TIME",
     .min = 100 * 1000000LL,
     .max = 3600 * 1000000000LL,
     .help = "look again after TIME: parked, spinning, or moving?"},
    {.name = "json",
     .kind = OPTION_FLAG,
     .to = offsetof(struct options, json),
     .help = "a report of kind live as JSON"},
    OPTION_NO_SYMBOLS(options, no_symbols),
    {0},
};

const struct command command_dump = {
    .name = "dump",
    .group = "Watch",
    .about = "Print the stacks of a running process, and what each thread waits for",
    .usage = "[OPTIONS] PID|NAME",
    .example = {{"dump 4711", "why does this process not answer now?"},
                {"dump redis-server", "the one process of that name"},
                {"dump --watch 2s 4711", "which threads run, and which do not?"},
                {"dump --all-frames 4711", "also the frames of runtimes and libraries"}},
    .description =
        "The process needs no preparation. It is not stopped, not signalled and not traced: a thread that waits is read "
        "where it is. The line of a waiting thread has the time since the thread last ran: it is in its call for so long, or longer. "
        "A thread that runs is read by a sample of the kernel (perf_event_open), and has its share of a CPU. "
        "Where kernel.perf_event_paranoid forbids samples, it has no stack: "
        "with --running it is stopped for some 50 us, and the pause is printed.\n\n"
        "A name is that of the program, or of the script that it runs. Processes of another user, and where "
        "kernel.yama.ptrace_scope is not 0 all processes, need root.\n\n",
    .environment = "DEBUGINFOD_URLS\tservers of debug information, for functions and lines\n",
    .no_spool = true,
    .deep = true,
    .instead = {{.option = "unit", .command = "hangdog attach --unit"},
                {.option = "all", .command = "hangdog dump --all-frames"}},
    .operand = COMPLETE_PROCESS,
    .options = dump_options,
    .run = cmd_dump,
};

static const struct live_command dump_command = {"dump", "dump"};

/* The process's index in argv, -1 with the exit status in *status. */
static int parse_options(int argc, char **argv, struct options *o, int *status) {
    int first = options_parse(&command_dump, o, argc, argv, status);
    if (first < 0 || argc - first == 1) {
        return first;
    }
    *status = argc == first ? options_wrong_use(&command_dump, "which process? A PID, or a NAME")
                            : options_wrong_use(&command_dump, "unexpected '%s': one process at a time",
                                                argv[first + 1]);
    return -1;
}

static int print(const json_t *report, const json_t *notes, const struct options *o) {
    const struct render_options text = {.colour = render_wants_colour(stdout),
                                        .width = render_width(stdout),
                                        .all_frames = o->all_frames,
                                        .notes = notes};
    int rc = o->json ? sanitize_print_json(stdout, report, JSON_INDENT(2) | JSON_PRESERVE_ORDER)
                     : dump_text(stdout, report, &text);
    return rc != 0 && errno != EPIPE ? print_error("cannot write the stacks: %s", strerror(errno))
                                     : error_check_stdout("the stacks");
}

/* A report of the threads as they were read last; NULL: no memory. */
static json_t *make_report(const struct live_threads *t, const struct options *o, json_t **notes) {
    json_t *report = live_report(t);
    if (report != NULL && !o->no_symbols) {
        struct symbolizer *s = live_symbolizer(t, true);
        live_report_symbolicate(report, t, s, notes);
        symbolizer_destroy(s);
    }
    return report;
}

/* Looks again after a while, and compares. 0 or a negative errno value. */
static int watch(struct live_threads *t, const struct options *o, json_t **report, json_t **notes) {
    struct motion before, now;
    motion_take(&before, t->process->proc_fd, *report);
    json_decref(*report);
    json_decref(*notes);
    *report = *notes = NULL;
    hd_os_nap((uint64_t)o->watch_ns);
    int rc = live_threads_again(t);
    if (rc == 0) {
        *report = make_report(t, o, notes);
        motion_take(&now, t->process->proc_fd, *report);
        motion_add(&before, &now, *report);
        motion_free(&now);
        rc = *report == NULL ? -ENOMEM : 0;
    }
    motion_free(&before);
    return rc;
}

static int dump(const struct live_process *p, const struct options *o) {
    struct live_threads threads;
    json_t *report = NULL, *notes = NULL;
    int status = EXIT_ERROR, rc = live_threads_read(&threads, p, o->running);
    if (rc == 0) {
        report = make_report(&threads, o, &notes);
        rc = report == NULL ? -ENOMEM : 0;
    }
    if (rc == 0 && o->watch_ns != 0) {
        rc = watch(&threads, o, &report, &notes);
    }
    if (rc != 0) {
        print_error("cannot dump process %d: %s", p->pid,
                    live_process_lives(p) ? strerror(-rc) : "it has just ended");
    } else {
        tasks_name_threads(report, &threads);
        live_report_add_waits(report, &threads);
        tasks_add(report, &threads);
        status = print(report, notes, o);
    }
    json_decref(report);
    json_decref(notes);
    live_threads_free(&threads);
    return status;
}

static int cmd_dump(int argc, char **argv) {
    struct options o = {0};
    struct live_process process;
    struct problem why;
    int status = 0, which = parse_options(argc, argv, &o, &status);
    if (which < 0) {
        return status;
    }
    int pid = process_find(argv[which], &dump_command, &why);
    if (pid <= 0 || live_process_open(pid, &dump_command, &process, &why) != 0) {
        return error_print(&why);
    }
    memory_keep_to_room(); /* hangdog may run in the program's container */
    status = dump(&process, &o);
    live_process_close(&process);
    return status;
}
