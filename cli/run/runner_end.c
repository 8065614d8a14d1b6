/* SPDX-License-Identifier: MIT */
#include "cli/run/runner.h"

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

static bool end_requested(void *runner) {
    return runner_end_requested(runner);
}

void runner_finish_reporter(struct runner *r, const struct reporter_options *o) {
    unsigned long long hangs = atomic_load(&r->run.record->hangs.count);
    reporter_finish(&r->reporter);
    reporter_wait(&r->reporter, r->signal_fd, end_requested, r);
    if (!r->reporter.done && !o->print.quiet && output_has_space()) {
        print_error("%s ran, and its summary is missing: no reporter lived (%llu hang%s); try: %s list%s",
                    o->name, hangs, cli_plural((int64_t)hangs, "", "s"), shell_own_command(),
                    o->print.spool_words);
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
