/* SPDX-License-Identifier: MIT
 *
 * Which child a blocked call waits for: by its number, its descriptor, a pipe, a vfork.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "evidence.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "os/os.h"

static void a_wait_for_one_child_names_that_one(void **state) {
    (void)state;
    pid_t first = begin_child(), second = begin_child();
    assert_string_equal(cause_blocked(SYS_wait4, (uint64_t)first, 0, 0), "child");
    assert_int_equal(probe.child.pid, first);
    cause_blocked(SYS_waitid, P_PID, (uint64_t)first, 0);
    assert_int_equal(probe.child.pid, first);
    cause_blocked(SYS_wait4, (uint64_t)(uint32_t)-1, 0, 0);
    assert_int_equal(probe.child.pid, second);
    cause_blocked(SYS_waitid, P_ALL, 0, 0);
    assert_int_equal(probe.child.pid, second);
    end_child(first);
    end_child(second);
}

static void names_the_process_of_a_wait_by_descriptor(void **state) {
    (void)state;
    pid_t first = begin_child(), second = begin_child();
    int pidfd = (int)syscall(SYS_pidfd_open, first, 0);
    if (pidfd >= 0) {
        assert_string_equal(cause_blocked(SYS_waitid, P_PIDFD, (uint64_t)pidfd, 0), "child");
        assert_int_equal(probe.child.pid, first);
        close(pidfd);
    }
    cause_blocked(SYS_waitid, P_PIDFD, (uint64_t)pair[0], 0);
    assert_int_equal(probe.child.pid, 0);
    end_child(first);
    end_child(second);
}

static void a_poll_of_a_processs_descriptor_names_that_one_whatever_its_age(void **state) {
    (void)state;
    int pipes[2];
    pid_t first = begin_child(), second = begin_child();
    struct pollfd set[] = {{.fd = (int)syscall(SYS_pidfd_open, first, 0)}, {.fd = -1}, {.fd = -1}};
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    usleep(100000); /* at least: neither is of this turn */
    began_ns = hd_os_now_ns();
    if (set[0].fd >= 0) {
        set[1].fd = pipes[0];
        assert_string_equal(cause_in_poll(set, 2), "child");
        assert_int_equal(probe.child.pid, first);
        pid_t third = begin_child();
        assert_string_equal(cause_in_poll(set, 2), "child");
        assert_int_equal(probe.child.pid, first);
        end_child(third);
        set[2].fd = pair[0];
        assert_string_equal(cause_in_poll(set, 3), "network");
        set[2].fd = (int)syscall(SYS_pidfd_open, second, 0);
        assert_string_equal(cause_in_poll(set, 3), "child");
        assert_int_equal(probe.child.pid, 0);
        close(set[2].fd);
        set[2].fd = eventfd(0, EFD_CLOEXEC);
        assert_string_equal(cause_in_poll(set, 3), "unknown");
        close(set[0].fd);
        close(set[2].fd);
        set[0].fd = (int)syscall(SYS_pidfd_open, getpid(), 0); /* nobody's child of ours */
        assert_string_equal(cause_in_poll(set, 1), "unknown");
        close(set[0].fd);
    }
    set[0].fd = pipes[0];
    assert_string_equal(cause_in_poll(set, 1), "unknown");
    close(pipes[0]);
    close(pipes[1]);
    end_child(first);
    end_child(second);
}

/* One that has this end of a pipe as its input, or output. */
static pid_t begin_child_at(int end, int as) {
    int kept = dup(as);
    assert_true(kept >= 0);
    assert_int_equal(dup2(end, as), as); /* the child has it as it is made */
    pid_t pid = begin_child();
    assert_int_equal(dup2(kept, as), as);
    close(kept);
    return pid;
}

static void who_waits_at_a_pipe_waits_for_the_child_at_its_other_end_whatever_its_age(void **state) {
    (void)state;
    int answers[2], commands[2], others[2];
    assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
    assert_int_equal(pipe2(commands, O_CLOEXEC), 0);
    assert_int_equal(pipe2(others, O_CLOEXEC), 0);
    struct pollfd one = {.fd = answers[0], .events = POLLIN};
    pid_t reads = begin_child_at(commands[0], STDIN_FILENO);
    pid_t writes = begin_child_at(answers[1], STDOUT_FILENO), none = begin_child();
    usleep(100000); /* at least: none of them is of this turn */
    began_ns = hd_os_now_ns();
    assert_string_equal(cause_blocked(SYS_read, (uint64_t)answers[0], 0, 0), "child");
    assert_int_equal(probe.child.pid, writes);
    assert_string_equal(cause_in_poll(&one, 1), "child");
    assert_int_equal(probe.child.pid, writes);
    assert_string_equal(cause_blocked(SYS_write, (uint64_t)commands[1], 0, 0), "child");
    assert_int_equal(probe.child.pid, reads);
    assert_string_equal(cause_blocked(SYS_read, (uint64_t)others[0], 0, 0), "unknown");
    assert_string_equal(cause_blocked(SYS_read, (uint64_t)commands[0], 0, 0), "unknown");
    pid_t young = begin_child();
    cause_blocked(SYS_read, (uint64_t)answers[0], 0, 0);
    assert_int_equal(probe.child.pid, writes);
    cause_blocked(SYS_read, (uint64_t)others[0], 0, 0);
    assert_int_equal(probe.child.pid, young);
    for (unsigned i = 0; i < 2; i++) {
        close(answers[i]);
        close(commands[i]);
        close(others[i]);
    }
    end_child(young);
    end_child(none);
    end_child(writes);
    end_child(reads);
}

static void who_waits_at_a_pipe_waits_for_what_a_child_left_that_has_ended(void **state) {
    (void)state;
    int pipes[2];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    struct pollfd one = {.fd = pipes[0], .events = POLLIN};
    siginfo_t info;
    pid_t ended = begin_child();
    assert_int_equal(kill(ended, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT), 0);
    assert_string_equal(cause_blocked(SYS_read, (uint64_t)pipes[0], 0, 0), "child");
    assert_int_equal(probe.child.pid, ended);
    assert_string_equal(cause_in_poll(&one, 1), "child");
    assert_string_equal(cause_blocked(SYS_recvfrom, (uint64_t)pair[0], 0, 0), "network");
    usleep(100000); /* at least: it is not of this turn */
    began_ns = hd_os_now_ns();
    assert_string_equal(cause_blocked(SYS_read, (uint64_t)pipes[0], 0, 0), "unknown");
    assert_int_equal(waitpid(ended, NULL, 0), ended);
    close(pipes[0]);
    close(pipes[1]);
}

static void only_a_vfork_waits_for_the_child_that_it_makes(void **state) {
    (void)state;
    enum {
        VFORK = 0x4000,
        VM = 0x100,
        THREAD = 0x10000
    }; /* CLONE_… */
    uint64_t spawn[11] = {VFORK | VM}, thread[11] = {VM | THREAD};
    pid_t child = begin_child();
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_clone, SIGCHLD, 0, 0), "page-fault");
    assert_int_equal(probe.child.pid, 0);
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_clone, VFORK | VM | SIGCHLD, 0, 0), "child");
    assert_int_equal(probe.child.pid, child);
    uint64_t at = (uint64_t)(uintptr_t)thread;
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_clone3, at, sizeof thread, 0), "page-fault");
    at = (uint64_t)(uintptr_t)spawn;
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_clone3, at, sizeof spawn, 0), "child");
    assert_int_equal(probe.child.pid, child);
    hd_os.pread = no_pread;
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_clone3, at, sizeof spawn, 0), "page-fault");
#ifdef SYS_fork
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_fork, 0, 0, 0), "page-fault");
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_vfork, 0, 0, 0), "child");
#endif
    end_child(child);
}

static void among_many_children_the_newest_is_named(void **state) {
    enum {
        CHILDREN = 400
    };
    static pid_t child[CHILDREN];
    (void)state;
    for (unsigned i = 0; i < CHILDREN; i++) {
        child[i] = begin_child();
    }
    cause_blocked(SYS_wait4, (uint64_t)(uint32_t)-1, 0, 0);
    assert_int_equal(probe.child.pid, child[CHILDREN - 1]);
    for (unsigned i = 0; i < CHILDREN; i++) {
        end_child(child[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wait_for_one_child_names_that_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_the_process_of_a_wait_by_descriptor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_poll_of_a_processs_descriptor_names_that_one_whatever_its_age,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            who_waits_at_a_pipe_waits_for_the_child_at_its_other_end_whatever_its_age, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_waits_at_a_pipe_waits_for_what_a_child_left_that_has_ended,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_a_vfork_waits_for_the_child_that_it_makes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(among_many_children_the_newest_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
