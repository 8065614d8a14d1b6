/* SPDX-License-Identifier: MIT
 *
 * A thread's own descriptor table, where the kernel (before 5.9) or a container's filter denies the call that
 * gives an empty one: nothing of the program's table is changed, no lock is dropped, no end of a pipe kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "denied.h"
#include "os/os.h"

#define NUMBERS 1024
#define NO_FILTER 77

/* ---- the program's table --------------------------------------------------------------------------- */

struct table {
    struct {
        int flags; /* -1: not open */
        dev_t device;
        ino_t inode;
    } number[NUMBERS];
};

static void look(struct table *t) {
    memset(t, 0, sizeof *t);
    for (int fd = 0; fd < NUMBERS; fd++) {
        struct stat st;
        t->number[fd].flags = fcntl(fd, F_GETFD);
        if (t->number[fd].flags >= 0 && fstat(fd, &st) == 0) {
            t->number[fd].device = st.st_dev;
            t->number[fd].inode = st.st_ino;
        }
    }
}

static struct program {
    int locked, flocked, flocked_again, pipe[2], pair[2], epoll, high;
    struct table before, after;
} program;

/* What programs have: locks of both kinds, pipes, sockets, an epoll instance, numbers with gaps. */
static void open_some(void) {
    char path[] = "/tmp/hangdog-table-XXXXXX";
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    program.locked = mkstemp(path);
    CHECK(program.locked >= 0 && write(program.locked, "hello", 5) == 5);
    program.flocked = open(path, O_RDWR | O_CLOEXEC);
    program.flocked_again = open(path, O_RDONLY);
    CHECK(unlink(path) == 0);
    CHECK(fcntl(program.locked, F_SETLK, &whole) == 0);
    CHECK(flock(program.flocked, LOCK_EX | LOCK_NB) == 0);
    CHECK(pipe(program.pipe) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, program.pair) == 0);
    program.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = program.pipe[0]};
    CHECK(epoll_ctl(program.epoll, EPOLL_CTL_ADD, program.pipe[0], &event) == 0);
    program.high = fcntl(program.pair[0], F_DUPFD, 700);
    CHECK(program.high >= 700);
    look(&program.before);
}

/* Another process asks; it has no lock of its own. */
static void locks_are_taken(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        CHECK(fcntl(program.locked, F_GETLK, &whole) == 0);
        CHECK(whole.l_type == F_WRLCK && whole.l_pid == getppid());
        CHECK(flock(program.flocked_again, LOCK_EX | LOCK_NB) == -1);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void is_as_before(void) {
    look(&program.after);
    for (int fd = 0; fd < NUMBERS; fd++) {
        CHECK(program.before.number[fd].flags == program.after.number[fd].flags);
        CHECK(program.before.number[fd].device == program.after.number[fd].device);
        CHECK(program.before.number[fd].inode == program.after.number[fd].inode);
    }
    locks_are_taken();
    struct epoll_event event;
    CHECK(epoll_wait(program.epoll, &event, 1, 0) == 0);
    CHECK(write(program.pipe[1], "x", 1) == 1);
    CHECK(epoll_wait(program.epoll, &event, 1, 0) == 1);
}

static bool hung_up(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;
    while (poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0 && read(fd, &byte, 1) == 1) {
    }
    return (p.revents & POLLHUP) != 0;
}

/* ---- the thread ------------------------------------------------------------------------------------ */

static uint8_t stack[256 * 1024 + HD_OS_STACK_EXTRA] __attribute__((aligned(4096)));

static struct {
    int left, opened; /* descriptors that it was born with; the number that it got for one of its own */
    _Atomic uint32_t born, may_end;
} thread;

static void *live(void *unused) {
    for (int fd = 0; fd < NUMBERS; fd++) {
        thread.left += fcntl(fd, F_GETFD) >= 0;
    }
    thread.opened = epoll_create1(0);
    atomic_store(&thread.born, 1);
    hd_os.futex_wake((uint32_t *)&thread.born, 1, false);
    while (atomic_load(&thread.may_end) == 0) {
        (void)hd_os.futex_wait((uint32_t *)&thread.may_end, 0, UINT64_MAX, false);
    }
    return unused;
}

static void a_second_thread_lives(void) {
    struct hd_os_thread t;
    CHECK(hd_os_thread_start(&t, stack, sizeof stack, live, NULL) == 0);
    while (atomic_load(&thread.born) == 0) {
        (void)hd_os.futex_wait((uint32_t *)&thread.born, 0, UINT64_MAX, false);
    }
    CHECK(thread.left == 0 && thread.opened == 0);
    is_as_before();
    close(program.pipe[1]);
    CHECK(hung_up(program.pipe[0])); /* the thread does not keep it */
    CHECK(dup(program.pipe[0]) == program.pipe[1]);
    atomic_store(&thread.may_end, 1);
    hd_os.futex_wake((uint32_t *)&thread.may_end, 1, false);
    hd_os_thread_join(&t);
    close(program.pipe[1]);
    CHECK(dup(program.pipe[0]) ==
          program.pipe[1]); /* that its own is closed with its table takes none of ours */
    locks_are_taken();
}

/* ---- what is denied -------------------------------------------------------------------------------- */

static void in_a_child(void (*run)(void)) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        open_some();
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER) {
        print_message("no seccomp filter can be had here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void deny_or_skip(long call, int error) {
    if (!deny(call, error)) {
        _exit(NO_FILTER);
    }
}

static void with_an_old_kernel(void) {
    deny_or_skip(SYS_close_range, ENOSYS);
    a_second_thread_lives();
}

static void with_an_old_filter(void) {
    deny_or_skip(SYS_close_range, EPERM);
    a_second_thread_lives();
}

static void without_proc(void) {
    deny_or_skip(SYS_openat, ENOENT);
    with_an_old_kernel();
}

static void with_a_full_table(void) {
    struct rlimit few = {0};
    CHECK(getrlimit(RLIMIT_NOFILE, &few) == 0);
    few.rlim_cur =
        (rlim_t)program.pipe[0]; /* all below it are taken; the pipe's is the first that is free later */
    deny_or_skip(SYS_close_range, ENOSYS);
    struct hd_os_thread t;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    atomic_store(&thread.may_end, 1);
    CHECK(hd_os_thread_start(&t, stack, sizeof stack, live, NULL) == 0);
    hd_os_thread_join(&t);
    CHECK(thread.left == 0 && thread.opened == 0);
    is_as_before();
}

static void with_both_denied(void) {
    struct hd_os_thread t;
    deny_or_skip(SYS_close_range, ENOSYS);
    deny_or_skip(SYS_unshare, EPERM);
    atomic_store(&thread.may_end, 1);
    CHECK(hd_os_thread_start(&t, stack, sizeof stack, live, NULL) == -EPERM);
    CHECK(!t.started && atomic_load(&thread.born) == 0);
    is_as_before();
}

static void an_old_kernels_copy_is_emptied(void **state) {
    (void)state;
    in_a_child(with_an_old_kernel);
}

static void so_it_is_where_a_filter_says_no(void **state) {
    (void)state;
    in_a_child(with_an_old_filter);
}

static void without_proc_it_is_emptied_by_number(void **state) {
    (void)state;
    in_a_child(without_proc);
}

static void so_it_is_where_the_list_cannot_be_opened(void **state) {
    (void)state;
    in_a_child(with_a_full_table);
}

static void where_both_are_denied_there_is_no_thread(void **state) {
    (void)state;
    in_a_child(with_both_denied);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_kernels_copy_is_emptied),
        cmocka_unit_test(so_it_is_where_a_filter_says_no),
        cmocka_unit_test(without_proc_it_is_emptied_by_number),
        cmocka_unit_test(so_it_is_where_the_list_cannot_be_opened),
        cmocka_unit_test(where_both_are_denied_there_is_no_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
