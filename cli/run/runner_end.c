/* SPDX-License-Identifier: MIT */
#include "cli/run/runner.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/output.h"
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"
#include "os/os.h"

#define END_SIGNAL_NS (2 * HD_NS_PER_S) /* a signal asks the runner to end: since then */
#define PATIENCE_NS (60 * HD_NS_PER_S)  /* since the reporter printed something */
#define UNREAD_NS (5 * HD_NS_PER_S)     /* since a reader took the last piece of it */
#define LOOK_MS 100

/* A server of debug information may not answer, and stderr may be a full pipe. A signal may be the program's,
 * which ended by it: a service manager sends it to one process after the other. */
static bool is_too_long(const struct runner *r, uint64_t from_ns) {
    uint64_t taken_ns, now = hd_os_now_ns();
    bool writing = reporter_is_writing(&r->reporter, &taken_ns);
    uint64_t since = taken_ns > from_ns ? taken_ns : from_ns;
    return r->end_requested ? now >= from_ns + END_SIGNAL_NS
                            : now >= since + (writing ? UNREAD_NS : PATIENCE_NS);
}

static void wait_for_reporter(struct runner *r) {
    uint64_t from_ns = hd_os_now_ns(), unused;
    unsigned starts = r->reporter.starts;
    while (r->reporter.pid != 0) {
        poll(&(struct pollfd){.fd = r->signal_fd, .events = POLLIN}, 1, LOOK_MS);
        if (runner_end_requested(r)) {
            reporter_hurry(&r->reporter);
        }
        reporter_reap(&r->reporter, r->reporter.pid);
        if (r->reporter.pid != 0 && is_too_long(r, from_ns)) {
            reporter_kill(&r->reporter, !reporter_is_writing(&r->reporter, &unused));
        }
        if (r->reporter.starts != starts) { /* a new reporter gets the full time */
            starts = r->reporter.starts;
            from_ns = hd_os_now_ns();
        }
    }
}

void runner_finish_reporter(struct runner *r, const struct reporter_options *o) {
    unsigned long long hangs = atomic_load(&r->run.record->hangs.count);
    reporter_finish(&r->reporter);
    wait_for_reporter(r);
    if (!r->reporter.done && !o->quiet && output_has_space()) {
        print_error("%s ran, and its summary is missing: no reporter lived (%llu hang%s); try: %s list%s",
                    o->name, hangs, cli_plural((int64_t)hangs, "", "s"), shell_own_command(), o->spool_words);
    }
}

/* By the signal that ended the program. */
static _Noreturn void end_by(int signal) {
    struct rlimit none = {0, 0}; /* the program's core file is the one that is wanted */
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0); /* where a program takes core files the limit says nothing */
    struct sigaction act = {.sa_handler = SIG_DFL};
    sigaction(signal, &act, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(signal);
    _exit(128 + signal);
}

_Noreturn void runner_end_alike(int status) {
    if (!WIFSIGNALED(status)) {
        exit(WEXITSTATUS(status));
    }
    fflush(NULL);
    end_by(WTERMSIG(status));
}
