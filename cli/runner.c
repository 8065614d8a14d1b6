/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: process control of the runner.
 */
#include "cli/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a person or a supervisor sends to the program by sending it to us. */
static const int forwarded[] = {SIGTERM, SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGCONT, SIGTSTP, SIGALRM, SIGWINCH};

static sigset_t mask_before;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * HD_NS_PER_S + (uint64_t)t.tv_nsec;
}

int runner_prepare(struct runner *r) {
    *r = (struct runner){.child = -1};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof forwarded[0]; i++) {
        sigaddset(&set, forwarded[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &mask_before);
    r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    r->record_fd = memfd_create("hangdog", MFD_CLOEXEC);
    if (r->signal_fd < 0 || r->record_fd < 0 || ftruncate(r->record_fd, sizeof(struct hd_record)) != 0) {
        return -errno;
    }
    r->record = mmap(NULL, sizeof(struct hd_record), PROT_READ | PROT_WRITE, MAP_SHARED, r->record_fd, 0);
    if (r->record == MAP_FAILED) {
        return -errno;
    }
    r->record->magic = HD_RECORD_MAGIC;
    r->record->bytes = sizeof *r->record;
    return 0;
}

/* In the child. Only what the program would have had: mask, descriptors, environment, but for our two
 * variables. */
static _Noreturn void become(const struct runner *r, char *const argv[], const char *preload, int tell_fd) {
    char number[16];
    int link_fd = dup(r->record_fd); /* without close-on-exec */
    snprintf(number, sizeof number, "%d", link_fd);
    setenv("HANGDOG_LINK", number, 1);
    setenv("LD_PRELOAD", preload, 1);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
    execvp(argv[0], argv);
    int why = errno;
    if (write(tell_fd, &why, sizeof why) < 0) {
        _exit(126);
    }
    _exit(127);
}

int runner_start(struct runner *r, char *const argv[], const char *preload) {
    int tell[2];
    if (pipe2(tell, O_CLOEXEC) != 0) {
        return -errno;
    }
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    r->record->options.started_ns = now_ns();
    r->record->options.started_wall_ns = (uint64_t)wall.tv_sec * HD_NS_PER_S + (uint64_t)wall.tv_nsec;
    r->child = fork();
    if (r->child == 0) {
        become(r, argv, preload, tell[1]);
    }
    int rc = r->child < 0 ? -errno : 0;
    close(tell[1]);
    int why = 0;
    if (rc == 0 && read(tell[0], &why, sizeof why) == sizeof why) {
        waitpid(r->child, NULL, 0);
        rc = -why;
    }
    close(tell[0]);
    return rc;
}

/* ---- while it runs -------------------------------------------------------------------------- */

static void note_continued(struct runner *r) {
    if (r->stopped_at_ns != 0) {
        atomic_fetch_add(&r->record->stopped_ns, now_ns() - r->stopped_at_ns);
        r->stopped_at_ns = 0;
    }
}

/* The shell must see us stop when the program was stopped from the terminal; with SIGCONT both go on. */
static void stop_alike(int signal) {
    if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) {
        raise(SIGSTOP);
    }
}

static void reap(struct runner *r) {
    int status;
    while (!r->ended && waitpid(r->child, &status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
        if (WIFSTOPPED(status)) {
            r->stopped_at_ns = now_ns();
            stop_alike(WSTOPSIG(status));
        } else if (WIFCONTINUED(status)) {
            note_continued(r);
        } else {
            note_continued(r);
            r->ended = true;
            r->status = status;
        }
    }
}

void runner_handle_signals(struct runner *r) {
    struct signalfd_siginfo info;
    while (read(r->signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            continue; /* reaped below: signals of one kind merge */
        }
        if (info.ssi_code == SI_KERNEL) {
            continue; /* the terminal sent it to the program too */
        }
        if (info.ssi_signo == SIGCONT && r->stopped_at_ns == 0) {
            continue;
        }
        kill(r->child, (int)info.ssi_signo);
    }
    reap(r);
}

_Noreturn void runner_end_alike(int status) {
    if (!WIFSIGNALED(status)) {
        exit(WEXITSTATUS(status));
    }
    fflush(NULL);
    struct rlimit none = {0, 0}; /* the program's core file is the one that is wanted */
    setrlimit(RLIMIT_CORE, &none);
    int signal = WTERMSIG(status);
    struct sigaction act = {.sa_handler = SIG_DFL};
    sigaction(signal, &act, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(signal);
    exit(128 + signal);
}
