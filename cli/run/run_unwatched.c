/* SPDX-License-Identifier: MIT */
#include "cli/run/run_unwatched.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/signal_state.h"
#include "cli/run/program_check.h"

int run_not_started(const struct run_options *o, int rc) {
    const char *program = o->program[0];
    struct problem why;
    problem_set(&why, "%s; %s", strerror(-rc),
                rc != -ENOENT                  ? "check that it is a program that you may run"
                : strchr(program, '/') == NULL ? "check the name and PATH"
                                               : "check the path");
    if (rc == -ENOENT) {
        program_lacks(program, &why);
    }
    complain("cannot run '%.500s': %s", program, why.text);
    return rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/* Runs it in our place: nothing of us is in its way, and no memory is left of ours but what exec takes. */
int run_unwatched(const struct run_options *o, const struct problem *why) {
    if (!o->quiet) {
        complain("'%s' is run unwatched: %s", o->program[0], why->text);
    }
    fflush(NULL);
    signal_state_restore();
    execvp(o->program[0], o->program);
    return run_not_started(o, -errno);
}

static const char *how_to_have_it(const struct run_options *o, int rc) {
    switch (-rc) {
    case EMFILE:
        return "raise the limit on open files (ulimit -n)";
    case EFBIG:
        return "raise the limit on the size of files (ulimit -f)";
    case EAGAIN:
        return "raise the limit on processes (ulimit -u, or pids.max of the cgroup)";
    case ENOSPC:
    case EDQUOT:
        return "make room for the spool, or name another with --spool";
    case ENFILE:
    case ENOMEM:
        return "close some programs and try again";
    default: /* with --exec the record is a file in the spool, and locked */
        return o->exec ? "name another spool with --spool"
                       : "allow memfd_create, signalfd and fork where a seccomp filter forbids them";
    }
}

int run_unwatched_for(const struct run_options *o, int rc) {
    struct problem why;
    problem_set(&why, "what watching needs cannot be had: %s; %s", strerror(-rc), how_to_have_it(o, rc));
    return run_unwatched(o, &why);
}
