/* SPDX-License-Identifier: MIT */
#include "cli/reporter/reporter_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/deep_stack.h"
#include "cli/base/old_libc.h"
#include "cli/base/signal_state.h"
#include "cli/base/spool_folder.h"
#include "os/os.h"

#define STARTS 2
#define END_SIGNAL_NS (2 * HD_NS_PER_S) /* a signal asks the starter to end: since then */
#define PATIENCE_NS (60 * HD_NS_PER_S)  /* since the reporter printed something */
#define UNREAD_NS (5 * HD_NS_PER_S)     /* since a reader took the last piece of it */
#define LOOK_MS 100
#define END_MS_MAX 100 /* a disk that does not answer may block the reporter for ever */

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

static void leave_standard_files(bool to_stdout) {
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (to_stdout) {
        dup2(STDOUT_FILENO, STDERR_FILENO); /* the printer writes there */
    }
    if (nowhere >= 0) {
        dup2(nowhere, STDIN_FILENO);
        dup2(nowhere, STDOUT_FILENO);
    }
}

static _Noreturn void become_reporter(const struct reporter_process *p) {
    struct printer *r = p->printer;
    int fds[] = {r->wake_fd, r->options->json_fd, spool_folder_fd()};
    if (!r->options->no_signal) { /* else the call may be its end */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "hangdog-report");
    }
    be_dispensable();
    signal_state_ignore_all();
    leave_standard_files(r->options->to_stdout);
    close_all_but(fds, sizeof fds / sizeof fds[0]);
    if (getppid() == r->starter) {
        output_share(&r->shared->output);
        on_a_deep_stack(p->run, p->reporter);
    }
    _exit(EXIT_SUCCESS);
}

/* ---- in the starter ---------------------------------------------------------------------------- */

static void start(struct reporter_process *p) {
    p->starts++;
    p->printer->starter = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        become_reporter(p);
    }
    p->pid = pid > 0 ? pid : 0;
}

void reporter_start(struct reporter_process *p, struct printer *printer, void (*run)(void *reporter),
                    void *reporter) {
    *p = (struct reporter_process){.printer = printer, .run = run, .reporter = reporter};
    printer->names = true;
    start(p);
}

static void say_why(struct reporter_process *p, int status) {
    char *why = p->printer->why;
    const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
    if (p->stuck) {
        snprintf(why, PRINTER_WHY_BYTES, "symbol look-up took too long");
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        snprintf(why, PRINTER_WHY_BYTES, "symbol look-up was killed (out of memory?)");
    } else if (WIFSIGNALED(status)) {
        snprintf(why, PRINTER_WHY_BYTES, "symbol look-up was ended by SIG%s", name != NULL ? name : "?");
    } else {
        snprintf(why, PRINTER_WHY_BYTES, "out of memory");
    }
}

static void ended(struct reporter_process *p, int status) {
    p->pid = 0;
    p->done = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
    p->killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !p->stuck;
    if (!p->done && p->starts < STARTS) {
        p->printer->names = false;
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
    (void)eventfd_write(p->printer->wake_fd, 1);
}

void reporter_continue(const struct reporter_process *p) {
    if (p->pid != 0) {
        kill(p->pid, SIGCONT);
    }
}

void reporter_finish(struct reporter_process *p) {
    atomic_store(&p->printer->shared->finish, true);
    reporter_continue(p);
    wake(p);
}

void reporter_hurry(struct reporter_process *p) {
    if (!atomic_exchange(&p->printer->shared->hurry, true)) {
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
    *taken_ns = atomic_load(&p->printer->shared->output.taken_ns);
    return atomic_load(&p->printer->shared->output.writing);
}

/* A server of debug information may not answer, and stderr may be a full pipe. A signal may be the program's,
 * which ended by it: a service manager sends it to one process after the other. */
static bool is_too_long(const struct reporter_process *p, uint64_t from_ns, bool hurry) {
    uint64_t taken_ns, now = hd_os_now_ns();
    bool writing = reporter_is_writing(p, &taken_ns);
    uint64_t since = taken_ns > from_ns ? taken_ns : from_ns;
    return hurry ? now >= from_ns + END_SIGNAL_NS : now >= since + (writing ? UNREAD_NS : PATIENCE_NS);
}

void reporter_wait(struct reporter_process *p, int signal_fd, bool (*end_requested)(void *arg), void *arg) {
    uint64_t from_ns = hd_os_now_ns(), unused;
    unsigned starts = p->starts;
    while (p->pid != 0) {
        poll(&(struct pollfd){.fd = signal_fd, .events = POLLIN}, 1, LOOK_MS);
        bool hurry = end_requested(arg);
        if (hurry) {
            reporter_hurry(p);
        }
        reporter_reap(p, p->pid);
        if (p->pid != 0 && is_too_long(p, from_ns, hurry)) {
            reporter_kill(p, !reporter_is_writing(p, &unused));
        }
        if (p->starts != starts) { /* a new reporter gets the full time */
            starts = p->starts;
            from_ns = hd_os_now_ns();
        }
    }
}
