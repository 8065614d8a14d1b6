/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define print_error cmocka_print_error /* cli/base/error.h has another one */
#include <cmocka.h>
#undef print_error

#include "agent/supervisor.h"
#include "os/linux/proc_stat.h"
#include "os/os.h"

#define LEFT 7

static struct supervision *shared;

static uint64_t started_ns(pid_t pid) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return hd_proc_stat_read(AT_FDCWD, path).started_boot_ns;
}

static bool leaves(pid_t pid) {
    return supervision_leaves(shared, pid, started_ns(pid), hd_os_now_ns());
}

/* The watch of a process crashes; the next one leaves that process out, and no other. */
static int crash(void *watched) {
    const struct rlimit none = {0};
    pid_t pid = *(pid_t *)watched;
    if (leaves(pid)) {
        return !leaves(getppid()) && !supervision_leaves(shared, pid, 1, hd_os_now_ns()) ? LEFT
                                                                                         : EXIT_FAILURE;
    }
    working_for(&shared->now, pid);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGABRT, SIG_DFL);
    abort();
}

static int crash_for_none(void *unused) {
    pid_t none = 0;
    (void)unused;
    return crash(&none);
}

static int end(void *status) {
    return *(int *)status;
}

static void a_process_whose_watch_crashes_is_left_out(void **state) {
    pid_t watched = fork();
    (void)state;
    if (watched == 0) {
        pause();
    }
    shared = supervision_create();
    assert_non_null(shared);
    int status = supervise(shared, crash, &watched);
    kill(watched, SIGKILL);
    assert_int_equal(LEFT, status);
}

static void the_status_is_passed_on(void **state) {
    int status = 3;
    (void)state;
    shared = supervision_create();
    assert_non_null(shared);
    assert_int_equal(3, supervise(shared, end, &status));
    assert_int_equal(128 + SIGABRT, supervise(shared, crash_for_none, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_whose_watch_crashes_is_left_out),
        cmocka_unit_test(the_status_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
