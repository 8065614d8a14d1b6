/* SPDX-License-Identifier: MIT
 *
 * The process: ids, environment, exit, fork, waits.
 */
#include "process.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clocks.h"
#include "errors.h"
#include "gate.h"
#include "images.h"
#include "import.h"
#include "thread.h"

#define AT_EXIT 64
static struct {
    uint64_t run, argument;
} at_exit[AT_EXIT];
static _Atomic int at_exit_count;

void process_exit(int status) {
    for (int i = at_exit_count - 1; i >= 0; i--) {
        gate_call_darwin(at_exit[i].run, at_exit[i].argument, 0, 0, images_symbol("start"));
    }
    fflush(NULL);
    _exit(status);
}

/* A destructor of C is one, too: its initialiser passes it. */
static int fake_cxa_atexit(uint64_t run, uint64_t argument) {
    int i = at_exit_count++;
    at_exit[i].run = run;
    at_exit[i].argument = argument;
    return 0;
}

static int fake_atexit(uint64_t run) {
    return fake_cxa_atexit(run, 0);
}

static int fake_issetugid(void) {
    return 0;
}

static int *fake_error(void) {
    return &thread_self->error;
}

static char ***fake_environ(void) {
    return &environ;
}

static uint64_t fork_handlers[AT_EXIT][3]; /* before, in the parent, in the child */
static _Atomic int fork_handler_count;

static int fake_atfork(uint64_t before, uint64_t parent, uint64_t child) {
    int i = fork_handler_count++;
    fork_handlers[i][0] = before;
    fork_handlers[i][1] = parent;
    fork_handlers[i][2] = child;
    return 0;
}

static void run_fork_handlers(int which) {
    for (int i = 0; i < fork_handler_count; i++) {
        int at = which == 0 ? fork_handler_count - 1 - i : i;
        if (fork_handlers[at][which]) {
            gate_call_darwin(fork_handlers[at][which], 0, 0, 0, images_symbol("start"));
        }
    }
}

static int fake_fork(void) {
    run_fork_handlers(0);
    int pid = fork();
    if (pid == 0) {
        thread_forked();
    }
    run_fork_handlers(pid == 0 ? 2 : 1);
    return errors_of(pid);
}

static int fake_wait4(int pid, int *status, int options, void *usage) {
    int value = 0, result;
    (void)usage;
    thread_block();
    do {
        result = waitpid(pid, &value, options & 1 ? WNOHANG : 0);
    } while (result < 0 && errno == EINTR);
    thread_unblock();
    if (status) {
        *status = value; /* exit codes are the same; signals have the host's number */
    }
    return errors_of(result);
}

static int fake_waitpid(int pid, int *status, int options) {
    return fake_wait4(pid, status, options, NULL);
}

static int fake_poll(struct pollfd *fds, unsigned n, int ms) {
    int result, left = ms;
    uint64_t began_ns = clocks_uptime_ns();
    thread_block();
    do { /* a suspension interrupts the host's call, but not one of a Mac */
        result = poll(fds, n, left);
        uint64_t gone = (clocks_uptime_ns() - began_ns) / 1000000;
        left = ms < 0 ? ms : gone < (uint64_t)ms ? ms - (int)gone : 0;
    } while (result < 0 && errno == EINTR);
    thread_unblock();
    return errors_of(result);
}

struct usage {
    struct {
        int64_t seconds;
        int32_t microseconds, padding;
    } user, system;
    int64_t values[14];
};

static int fake_getrusage(int who, struct usage *out) {
    struct rusage host;
    int result = getrusage(who, &host);
    *out = (struct usage){{host.ru_utime.tv_sec, (int32_t)host.ru_utime.tv_usec, 0},
                          {host.ru_stime.tv_sec, (int32_t)host.ru_stime.tv_usec, 0},
                          {host.ru_maxrss * 1024}};
    return errors_of(result);
}

static int fake_getrlimit(int which, struct rlimit *out) {
    static const int host[9] = {RLIMIT_CPU, RLIMIT_FSIZE,   RLIMIT_DATA,  RLIMIT_STACK, RLIMIT_CORE,
                                RLIMIT_AS,  RLIMIT_MEMLOCK, RLIMIT_NPROC, RLIMIT_NOFILE};
    return which < 0 || which > 8 ? errors_fail(EINVAL)
                                  : errors_of(getrlimit((__rlimit_resource_t)host[which], out));
}

static const char *fake_progname(void) {
    return program_invocation_short_name;
}

static int fake_proc_pidinfo(void) {
    return errors_fail(ESRCH) + 1; /* 0: no information */
}

const struct import imports_of_process[] = {
    LIBRARY("exit", process_exit),
    LIBRARY("_exit", _exit),
    LIBRARY("atexit", fake_atexit),
    LIBRARY("__cxa_atexit", fake_cxa_atexit),
    PURE("__error", fake_error),
    LIBRARY("getpid", getpid),
    LIBRARY("getppid", getppid),
    LIBRARY("getuid", getuid),
    LIBRARY("geteuid", geteuid),
    LIBRARY("getgid", getgid),
    LIBRARY("getegid", getegid),
    LIBRARY("issetugid", fake_issetugid),
    LIBRARY("getenv", getenv),
    LIBRARY("setenv", setenv),
    LIBRARY("unsetenv", unsetenv),
    LIBRARY("_NSGetEnviron", fake_environ),
    LIBRARY("getprogname", fake_progname),
    LIBRARY("sched_yield", sched_yield),
    KERNEL("fork", fake_fork, 2),
    LIBRARY("pthread_atfork", fake_atfork),
    KERNEL("wait4", fake_wait4, 7),
    LIBRARY("waitpid", fake_waitpid),
    KERNEL("poll", fake_poll, 230),
    KERNEL("poll$NOCANCEL", fake_poll, 417),
    KERNEL("getrusage", fake_getrusage, 117),
    KERNEL("getrlimit", fake_getrlimit, 194),
    LIBRARY("proc_pidinfo", fake_proc_pidinfo),
    LIBRARY("proc_pidfdinfo", fake_proc_pidinfo),
    LIBRARY("proc_pid_rusage", fake_proc_pidinfo),
    IMPORT_END,
};
