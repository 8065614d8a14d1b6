/* SPDX-License-Identifier: MIT
 *
 * What threads wait for that are really blocked: the kernel's name for the place tells it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "evidence.h"
#include "os/linux/proc_files.h"
#include "os/os.h"

/* A thread in one call. */
struct blocked {
    pthread_t thread;
    _Atomic int tid;
    long nr;
    long arguments[5];
};

static void *make_call(void *arg) {
    struct blocked *b = arg;
    const long *a = b->arguments;
    b->tid = (int)syscall(SYS_gettid);
    syscall(b->nr, a[0], a[1], a[2], a[3], a[4], 0);
    return NULL;
}

/* False: the kernel does not tell that it waits in a place of this name. It is the caller from now on. */
static bool block(struct blocked *b, const char *name) {
    char place[64] = "";
    b->tid = 0;
    assert_int_equal(pthread_create(&b->thread, NULL, make_call, b), 0);
    for (unsigned tries = 0; strstr(place, name) == NULL && tries < 10000; tries++) {
        usleep(1000);
        hd_proc_read_task(ctx->proc_fd, b->tid, "wchan", place, sizeof place);
    }
    caller = b->tid;
    return strstr(place, name) != NULL;
}

static int no_place(int dir, const char *path, int flags, int mode) {
    return strstr(path, "/wchan") != NULL ? -EACCES : real.open_at(dir, path, flags, mode);
}

/* Nothing more fits in. */
static void fill(int fd) {
    static const char some[4096];
    while (send(fd, some, sizeof some, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
}

/* ---- a close ---------------------------------------------------------------------------------- */

/* Two ends of a connection by which nothing more can be sent, and whose first end stays open until the other
 * has got all of it. False: there is no network. */
static bool connect_lingering(int ends[2]) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger linger = {.l_onoff = 1, .l_linger = 600};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool made = bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0 &&
                getsockname(listener, (struct sockaddr *)&at, &size) == 0 &&
                connect(ends[0], (struct sockaddr *)&at, sizeof at) == 0;
    ends[1] = made ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    close(listener);
    setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    fill(ends[0]);
    return ends[1] >= 0;
}

/* The number is free by then, and may be another file's. */
static void who_closes_a_socket_that_lingers_waits_for_the_network(void **state) {
    (void)state;
    int ends[2];
    if (!connect_lingering(ends)) {
        close(ends[0]);
        skip();
    }
    struct blocked in_close = {.nr = SYS_close, .arguments = {ends[0]}};
    bool known = block(&in_close, "wait_woken");
    int other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const char *cause = cause_blocked(SYS_close, (uint64_t)ends[0], 0, 0);
    const char *cause_of_dup = cause_blocked(SYS_dup3, (uint64_t)other, (uint64_t)ends[0], 0);
    const char *cause_of_many = cause_blocked(SYS_close_range, (uint64_t)other, UINT64_MAX, 0);
    enum hd_fd_kind kind = hd_evidence_fd_kind(&probe);
    hd_os.open_at = no_place;
    const char *unread = cause_blocked(SYS_close, (uint64_t)ends[0], 0, 0);
    close(ends[1]);
    assert_int_equal(pthread_join(in_close.thread, NULL), 0);
    close(other);
    if (!known) {
        skip();
    }
    assert_string_equal(cause, "network");
    assert_string_equal(cause_of_dup, "network");
    assert_string_equal(cause_of_many, "network");
    assert_int_equal(kind, HD_FD_INET);
    assert_string_equal(unread, "unknown");
}

/* ---- two ends --------------------------------------------------------------------------------- */

/* And who comes to that pipe meanwhile waits for its lock, without regard to signals. */
static void who_gives_a_pipe_to_a_full_socket_waits_for_the_sockets_peer(void **state) {
    (void)state;
    int pipes[2];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    fill(pair[0]);
    struct blocked giving = {.nr = SYS_splice, .arguments = {pipes[0], 0, pair[0], 0, 1}};
    struct blocked writing = {.nr = SYS_write, .arguments = {pipes[1], (long)(uintptr_t) "y", 1}};
    bool known = block(&giving, "sock_");
    const char *given = cause_blocked(SYS_splice, (uint64_t)pipes[0], 0, (uint64_t)pair[0]);
    enum hd_fd_kind given_to = hd_evidence_fd_kind(&probe);
    bool locked = block(&writing, "pipe_write");
    const char *written = cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_write, (uint64_t)pipes[1], 0, 0);
    enum hd_fd_kind written_to = hd_evidence_fd_kind(&probe);
    hd_os.open_at = no_place;
    cause_blocked(SYS_splice, (uint64_t)pipes[0], 0, (uint64_t)pair[0]);
    enum hd_fd_kind unread = hd_evidence_fd_kind(&probe);
    close(pair[1]);
    pair[1] = -1;
    assert_int_equal(pthread_join(giving.thread, NULL), 0);
    assert_int_equal(pthread_join(writing.thread, NULL), 0);
    close(pipes[0]);
    close(pipes[1]);
    if (!known || !locked) {
        skip();
    }
    assert_string_equal(given, "network");
    assert_int_equal(given_to, HD_FD_UNIX);
    assert_string_equal(written, "output");
    assert_int_equal(written_to, HD_FD_PIPE);
    assert_int_equal(unread, HD_FD_PIPE);
}

/* The other way round it is the pipe that must be emptied. */
static void who_gives_a_socket_to_a_full_pipe_waits_for_the_pipes_reader(void **state) {
    (void)state;
    int pipes[2];
    char drain[4096] = {0};
    assert_int_equal(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
    while (write(pipes[1], drain, sizeof drain) > 0) {
    }
    fcntl(pipes[1], F_SETFL, 0);
    fill(pair[1]);
    struct blocked giving = {.nr = SYS_splice, .arguments = {pair[0], 0, pipes[1], 0, 1}};
    bool known = block(&giving, "pipe_");
    const char *cause = cause_blocked(SYS_splice, (uint64_t)pair[0], 0, (uint64_t)pipes[1]);
    enum hd_fd_kind kind = hd_evidence_fd_kind(&probe);
    while (read(pipes[0], drain, sizeof drain) > 0) {
    }
    assert_int_equal(pthread_join(giving.thread, NULL), 0);
    close(pipes[0]);
    close(pipes[1]);
    if (!known) {
        skip();
    }
    assert_string_equal(cause, "unknown");
    assert_int_equal(kind, HD_FD_PIPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_closes_a_socket_that_lingers_waits_for_the_network, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_gives_a_pipe_to_a_full_socket_waits_for_the_sockets_peer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_gives_a_socket_to_a_full_pipe_waits_for_the_pipes_reader, set_up,
                                        tear_down),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
