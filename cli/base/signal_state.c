/* SPDX-License-Identifier: MIT */
#include "cli/base/signal_state.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static struct {
    sigset_t mask;
    struct sigaction child, pipe, size;
    sigset_t ignored; /* before signal_state_ignore_all */
    bool ignores_all;
} given;

void signal_state_save(void) {
    sigprocmask(SIG_BLOCK, NULL, &given.mask);
    /* ignored, as some parents leave it, no child of ours could be waited for */
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &given.child);
    sigaction(SIGPIPE, NULL, &given.pipe);
    /* a limit on files is an error of a call's, and not our end */
    sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &given.size);
    for (int fd = open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0;
         fd = open("/dev/null", O_RDWR | O_CLOEXEC)) {
        if (fd > STDERR_FILENO) {
            close(fd);
            break;
        }
    }
}

void signal_state_ignore_all(void) {
    static const int faults[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGCHLD};
    sigset_t none;
    sigemptyset(&given.ignored);
    given.ignores_all = true;
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction before;
        if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN) {
            sigaddset(&given.ignored, number);
        }
        (void)signal(number, SIG_IGN); /* the kernel refuses some */
    }
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        (void)signal(faults[i], SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void signal_state_restore(void) {
    for (int number = 1; given.ignores_all && number <= SIGRTMAX; number++) {
        (void)signal(number, sigismember(&given.ignored, number) == 1 ? SIG_IGN : SIG_DFL);
    }
    sigaction(SIGCHLD, &given.child, NULL);
    sigaction(SIGPIPE, &given.pipe, NULL);
    sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL); /* drops a pending signal */
    sigaction(SIGXFSZ, &given.size, NULL);
    sigprocmask(SIG_SETMASK, &given.mask, NULL);
}
