/* SPDX-License-Identifier: MIT
 *
 * For the tests of what a blocked call waits for: a context without a worker, and evidence of calls that this
 * process is taken to be in, or is.
 */
#ifndef TEST_EVIDENCE_H
#define TEST_EVIDENCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cause/cause.h"
#include "cause/probe.h"
#include "cause/rows.h"
#include "os/os.h"

static struct hd_probe_context *ctx;
static struct hd_os_calls real;
static struct hd_probe probe;
static uint64_t began_ns;
static int pair[2];
static int caller; /* whose calls they are */

static inline int set_up(void **state) {
    (void)state;
    hd_os_clock_init();
    real = hd_os;
    ctx = calloc(1, sizeof *ctx);
    assert_non_null(ctx);
    ctx->proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ctx->mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    ctx->pid = getpid();
    assert_true(ctx->proc_fd >= 0 && ctx->mem_fd >= 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    began_ns = hd_os_now_ns();
    caller = (int)syscall(SYS_gettid);
    return 0;
}

static inline int tear_down(void **state) {
    (void)state;
    hd_os = real;
    close(pair[0]);
    close(pair[1]);
    close(ctx->proc_fd);
    close(ctx->mem_fd);
    free(ctx);
    return 0;
}

/* The cause of a call with these first three arguments, which the thread is taken to be blocked in. */
static inline const char *cause_of(enum hd_run_state state, int32_t nr, uint64_t a, uint64_t b, uint64_t c) {
    struct hd_capture call = {.state = (uint8_t)state, .syscall_nr = nr, .syscall_args = {a, b, c}};
    hd_probe_read(ctx, hd_thread_id_of(caller), &call, NULL, 0, began_ns, &probe);
    return hd_words_cause(hd_cause_of_block(&probe));
}

static inline const char *cause_blocked(int32_t nr, uint64_t a, uint64_t b, uint64_t c) {
    return cause_of(HD_RUN_BLOCKED, nr, a, b, c);
}

static inline pid_t begin_child(void) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            pause();
        }
    }
    return pid;
}

static inline void end_child(pid_t pid) {
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static inline uint64_t address_of(const void *what) {
    return (uint64_t)(uintptr_t)what;
}

static inline long no_pread(int fd, void *buf, size_t n, uint64_t offset) {
    (void)fd, (void)buf, (void)n, (void)offset;
    return -EIO;
}

static inline const char *cause_in_poll(const struct pollfd *set, uint64_t n) {
    return cause_blocked(SYS_ppoll, (uint64_t)(uintptr_t)set, n, 0);
}

#endif
