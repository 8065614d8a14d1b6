/* SPDX-License-Identifier: MIT
 *
 * For tests of the library that need a process of their own: this program again, in another role.
 */
#include "library.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void role_start(struct role *r, const char *role, const struct spool *s) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    r->fd = pair[0];
    r->pid = fork();
    assert_true(r->pid >= 0);
    if (r->pid == 0) {
        char own[] = "/proc/self/exe";
        char *argv[] = {own, (char *)(uintptr_t)role, (char *)(uintptr_t)s->path, NULL};
        if (pair[1] == ROLE_FD) {
            fcntl(ROLE_FD, F_SETFD, 0);
        } else {
            dup2(pair[1], ROLE_FD);
        }
        execv(own, argv);
        _exit(99);
    }
    close(pair[1]);
}

static const struct spool *session_in;

void role_ends_with_session(const struct spool *s) {
    session_in = s;
}

static bool session_has_come(void *unused) {
    (void)unused;
    json_t *sessions = spool_reports(session_in, "session", true);
    size_t count = json_array_size(sessions);
    json_decref(sessions);
    return count > 0;
}

/* After the library's own. */
__attribute__((destructor(101))) static void wait_for_session(void) {
    if (session_in != NULL) {
        (void)wait_for(session_has_come, NULL);
    }
}

/* Under a sanitizer one after the other: there all of them want the processors. */
int run_side_by_side(const struct CMUnitTest *tests, size_t count) {
    const size_t at_a_time = SANITIZED ? 1 : 5;
    int failed = 0, status;
    for (size_t i = 0, running = 0; i < count || running > 0;) {
        if (i < count && running < at_a_time) {
            pid_t child = fork();
            if (child == 0) {
                const struct CMUnitTest one[] = {tests[i]};
                exit(cmocka_run_group_tests(one, NULL, NULL));
            }
            i++;
            failed += child < 0;
            running += child > 0;
        } else {
            failed += wait(&status) < 0 || status != 0;
            running--;
        }
    }
    return failed;
}

void role_say(int fd, uint64_t value) {
    assert_int_equal(write(fd, &value, sizeof value), sizeof value);
}

uint64_t role_hear(int fd) {
    uint64_t value = 0;
    assert_int_equal(recv(fd, &value, sizeof value, MSG_WAITALL), sizeof value);
    return value;
}

int role_wait(struct role *r) {
    int status = 0;
    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    close(r->fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

struct between role_stop_for(const struct role *r, uint64_t ms) {
    uint64_t before = now_ns();
    assert_int_equal(kill(r->pid, SIGSTOP), 0);
    return role_stopped_for(r, ms, before);
}

struct between role_stopped_for(const struct role *r, uint64_t ms, uint64_t since_ns) {
    int status = 0;
    assert_int_equal(waitpid(r->pid, &status, WUNTRACED), r->pid);
    assert_true(WIFSTOPPED(status));
    uint64_t stopped = now_ns();
    nap_ms(ms);
    uint64_t before = now_ns();
    assert_int_equal(kill(r->pid, SIGCONT), 0);
    return (struct between){before - stopped, now_ns() - since_ns};
}
