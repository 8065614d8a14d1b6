/* SPDX-License-Identifier: MIT */
#include "cli/base/signal_state.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static struct {
    sigset_t mask;
    struct sigaction child, pipe, size;
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

void signal_state_restore(void) {
    sigaction(SIGCHLD, &given.child, NULL);
    sigaction(SIGPIPE, &given.pipe, NULL);
    sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL); /* one that waits is forgotten */
    sigaction(SIGXFSZ, &given.size, NULL);
    sigprocmask(SIG_SETMASK, &given.mask, NULL);
}
