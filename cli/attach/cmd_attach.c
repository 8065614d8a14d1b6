/* SPDX-License-Identifier: MIT
 *
 * hangdog attach: watches programs that already run.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/attach/attach_options.h"
#include "cli/attach/attach_reporter.h"
#include "cli/attach/attach_watch.h"
#include "cli/base/message.h"
#include "cli/base/output.h"
#include "cli/base/shell_quote.h"
#include "cli/base/signal_state.h"
#include "cli/reporter/json_file.h"
#include "cli/reporter/reporter_process.h"
#include "os/os.h"

struct attach {
    struct attach_options options;
    struct attach_reporter reports;
    struct attach_watch watch;
    struct reporter_process reporter;
    int signal_fd;
    bool end_requested; /* a signal came */
};

static int open_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaddset(&set, signals[i]);
    }
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool end_requested(void *arg) {
    struct attach *a = arg;
    struct signalfd_siginfo info;
    bool again = false;
    while (read(a->signal_fd, &info, sizeof info) == sizeof info) {
        again |= info.ssi_signo != SIGCHLD;
    }
    a->end_requested |= again;
    return again;
}

/* How exact the watch is, and a command that allows a better one. True: it is as good as root's. */
static bool judge_way(struct watched_list *l, const struct hd_hook_way *way, const char *first) {
    bool root = geteuid() == 0;
    l->blind = strcmp(way->name, "looks") == 0; /* to hangs that run on a CPU */
    snprintf(l->better, sizeof l->better, root ? "%s doctor" : "sudo %s attach %.100s", shell_own_command(),
             first != NULL ? first : "...");
    return root ? way->turns != HD_TURNS_POLLED : way->turns == HD_TURNS_EXACT;
}

/* On a terminal: what is watched, and how to end. */
static void print_start(const struct attach *a) {
    struct watched_list *l = a->reports.list;
    uint32_t count = atomic_load(&l->count);
    char text[512], what[160];
    bool good = judge_way(l, watcher_way(a->watch.watcher), a->options.run.program[0]);
    if (a->options.run.quiet || isatty(STDERR_FILENO) == 0 || a->watch.waits) {
        return;
    }
    if (count == 1) {
        snprintf(what, sizeof what, "%.100s[%d]", l->entry[0].options.app_name, (int)l->entry[0].pid);
    } else {
        snprintf(what, sizeof what, "%u processes", count + atomic_load(&l->more));
    }
    snprintf(text, sizeof text, "attached to %s, Ctrl-C ends%s", what,
             good             ? ""
             : geteuid() != 0 ? "; root sees more, and more exactly:"
             : l->blind       ? "; hangs that run on a CPU are not seen here, and this says why:"
                              : "; its times are less exact here, and this says why:");
    message_print(MESSAGE_DIM, &(struct message_part){text, good ? NULL : l->better}, 1);
}

/* True: stdout was a pipe, and its reader has gone. */
static bool reader_has_gone(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = 0};
    return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLNVAL)) != 0;
}

static void wait_for_more(const struct attach *a) {
    uint64_t now = hd_os_now_ns(), next = attach_watch_next_ns(&a->watch);
    struct pollfd fds[] = {{.fd = a->signal_fd, .events = POLLIN},
                           {.fd = watcher_descriptor(a->watch.watcher), .events = POLLIN}};
    int ms = next <= now ? 0 : (int)((next - now) / HD_NS_PER_MS + 1);
    poll(fds, 2, ms);
}

static void follow(struct attach *a) {
    while (!a->end_requested && !attach_watch_is_over(&a->watch)) {
        wait_for_more(a);
        end_requested(a);
        reporter_reap(&a->reporter, a->reporter.pid);
        attach_watch_step(&a->watch, hd_os_now_ns());
        if (reader_has_gone()) {
            break;
        }
    }
}

/* The terminal shows Ctrl-C as "^C": the next line takes its place. */
static void return_carriage(void) {
    if (isatty(STDOUT_FILENO) != 0) {
        (void)output_write_to(STDOUT_FILENO, "\r", 1);
    }
}

static bool hurries(void *arg) {
    return end_requested(arg);
}

/* The exit status. */
static int watch(struct attach *a) {
    struct problem why;
    int rc = attach_reporter_prepare(&a->reports, &a->options);
    a->signal_fd = open_signals();
    if (rc != 0 || a->signal_fd < 0) {
        return print_error("cannot attach: %s", strerror(rc != 0 ? -rc : errno));
    }
    a->watch = (struct attach_watch){
        .options = &a->options, .list = a->reports.list, .wake_fd = a->reports.printer.wake_fd};
    if (attach_watch_start(&a->watch, &why) != 0) {
        attach_watch_end(&a->watch);
        return why.text[0] != '\0' ? error_print(&why) : EXIT_ERROR;
    }
    print_start(a);
    reporter_start(&a->reporter, &a->reports.printer, attach_reporter_run, &a->reports);
    follow(a);
    attach_watch_end(&a->watch);
    return_carriage();
    reporter_finish(&a->reporter);
    reporter_wait(&a->reporter, a->signal_fd, hurries, a);
    if (!a->reporter.done && output_has_space() && !reader_has_gone()) {
        return print_error("the summary is missing: no reporter lived; try: %s list%s", shell_own_command(),
                           a->reports.print.spool_words);
    }
    return a->watch.refused > 0 ? EXIT_ERROR : EXIT_SUCCESS;
}

int cmd_attach(int argc, char **argv) {
    static struct attach a;
    struct problem why;
    int status = 0;
    if (!attach_options_parse(argc, argv, &a.options, &status)) {
        return status;
    }
    signal_state_save();
    hd_os_clock_init();
    if (!json_file_open(a.options.run.json, &a.options.run.json_fd, &why)) {
        return error_print(&why);
    }
    return watch(&a);
}
