/* SPDX-License-Identifier: MIT
 *
 * A child process of a test, and pipes to it. The child ends with the test.
 */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Opens the pipes, and starts a child that calls `run`. The child has their ends to read. */
static inline pid_t child_start(void (*run)(void), int (*pipes)[2], size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pipe(pipes[i]), 0);
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no child */
        prctl(PR_SET_DUMPABLE, 1);        /* a change of the user has cleared it */
        for (size_t i = 0; i < count; i++) {
            close(pipes[i][1]);
        }
        run();
        _exit(0);
    }
    return pid;
}

static inline void child_end(pid_t pid, int (*pipes)[2], size_t count) {
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (size_t i = 0; i < count; i++) {
        close(pipes[i][0]), close(pipes[i][1]);
    }
}

#endif
