/* SPDX-License-Identifier: MIT */
#include "cli/reporter/reporter_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/deep_stack.h"
#include "cli/base/signal_state.h"
#include "cli/base/spool_folder.h"

#define STARTS 2
#define END_MS_MAX 100 /* a disk that does not answer may block the reporter for ever */

int reporter_prepare(struct reporter_process *p) {
    void *shared =
        mmap(NULL, sizeof *p->reporter.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *p = (struct reporter_process){.reporter = {.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}};
    if (shared == MAP_FAILED || p->reporter.wake_fd < 0) {
        return -errno;
    }
    p->reporter.shared = shared;
    return 0;
}

/* ---- in the child ----------------------------------------------------------------------------- */

/* Where memory is short the kernel takes it first; and the program's core file is the one that is wanted. */
static void be_dispensable(void) {
    struct rlimit none = {1, 1}; /* less than any: neither a file, nor what a program that takes them gets */
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)(write(fd, "1000", 4) == 4);
        close(fd);
    }
    setrlimit(RLIMIT_CORE, &none);
}

static bool is_among(int fd, const int *fds, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (fds[i] == fd) {
            return true;
        }
    }
    return false;
}

/* Pipes end when those who use them do. One by one: a filter may end the process for close_range. */
static void close_all_but(const int *fds, size_t count) {
    DIR *dir = opendir("/proc/self/fd");
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        int fd = (int)strtol(e->d_name, NULL, 10);
        if (fd > STDERR_FILENO && fd != dirfd(dir) && !is_among(fd, fds, count)) {
            close(fd);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static void leave_standard_files(void) {
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) {
        dup2(nowhere, STDIN_FILENO);
        dup2(nowhere, STDOUT_FILENO);
    }
}

static void serve(void *reporter) {
    reporter_run(reporter);
}

static _Noreturn void become_reporter(struct reporter *r) {
    int fds[] = {r->wake_fd, r->options->json_fd, spool_folder_fd()};
    if (r->options->decided->seccomp_filters >= 0) { /* else the call may be its end */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "hangdog-report");
    }
    be_dispensable();
    signal_state_ignore_all();
    leave_standard_files();
    close_all_but(fds, sizeof fds / sizeof fds[0]);
    if (getppid() == r->runner) {
        output_share(&r->shared->output);
        on_a_deep_stack(serve, r);
    }
    _exit(EXIT_SUCCESS);
}

/* ---- in the runner ---------------------------------------------------------------------------- */

static void start(struct reporter_process *p) {
    p->starts++;
    p->reporter.runner = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        become_reporter(&p->reporter);
    }
    p->pid = pid > 0 ? pid : 0;
}

void reporter_start(struct reporter_process *p, const struct reporter_options *options) {
    p->reporter.options = options;
    p->reporter.names = true;
    start(p);
}

static void say_why(struct reporter_process *p, int status) {
    char *why = p->reporter.why;
    const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
    if (p->stuck) {
        snprintf(why, REPORTER_WHY_BYTES, "symbol look-up took too long");
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        snprintf(why, REPORTER_WHY_BYTES, "symbol look-up was killed (out of memory?)");
    } else if (WIFSIGNALED(status)) {
        snprintf(why, REPORTER_WHY_BYTES, "symbol look-up was ended by SIG%s", name != NULL ? name : "?");
    } else {
        snprintf(why, REPORTER_WHY_BYTES, "out of memory");
    }
}

static void ended(struct reporter_process *p, int status) {
    p->pid = 0;
    p->done = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
    p->killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !p->stuck;
    if (!p->done && p->starts < STARTS) {
        p->reporter.names = false;
        say_why(p, status);
        start(p);
    }
    p->stuck = false;
}

bool reporter_reap(struct reporter_process *p, pid_t pid) {
    int status;
    if (p->pid == 0 || p->pid != pid) {
        return false;
    }
    if (waitpid(p->pid, &status, WNOHANG) == p->pid) {
        ended(p, status);
    }
    return true;
}

static void wake(const struct reporter_process *p) {
    (void)eventfd_write(p->reporter.wake_fd, 1);
}

void reporter_continue(const struct reporter_process *p) {
    if (p->pid != 0) {
        kill(p->pid, SIGCONT);
    }
}

void reporter_finish(struct reporter_process *p) {
    atomic_store(&p->reporter.shared->finish, true);
    reporter_continue(p);
    wake(p);
}

void reporter_hurry(struct reporter_process *p) {
    if (!atomic_exchange(&p->reporter.shared->hurry, true)) {
        wake(p);
    }
}

void reporter_kill(struct reporter_process *p, bool again) {
    int status = 0;
    pid_t pid = p->pid;
    p->stuck = true;
    p->starts = again ? p->starts : STARTS;
    kill(pid, SIGKILL);
    for (unsigned ms = 0; ms < END_MS_MAX && waitpid(pid, &status, WNOHANG) == 0; ms++) {
        usleep(1000);
    }
    ended(p, SIGKILL); /* or the disk keeps it: nothing more is printed by that one */
}

bool reporter_is_writing(const struct reporter_process *p, uint64_t *taken_ns) {
    *taken_ns = atomic_load(&p->reporter.shared->output.taken_ns);
    return atomic_load(&p->reporter.shared->output.writing);
}
