/* SPDX-License-Identifier: MIT
 *
 * Where a program's main thread spends its time, as /proc says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/reporter/main_thread.h"
#include "os/os.h"

static void sleep_on(void) {
    for (;;) {
        nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
    }
}

static void run_on(void) {
    for (;;) {
    }
}

static void wait_for_a_child(void) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sleep_on();
    }
    waitpid(child, NULL, 0);
}

static void poll_on(void) {
    poll(NULL, 0, -1);
}

static void read_on(void) {
    int ends[2];
    char byte;
    if (pipe(ends) == 0) {
        (void)(read(ends[0], &byte, 1) == 1);
    }
}

/* The state in which most of 0.6 s was spent. */
static enum main_thread_state sampled(void (*does)(void), struct main_thread *t) {
    uint64_t started_ns = hd_os_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        does();
        _exit(0);
    }
    for (unsigned i = 0; i < 60; i++) {
        hd_os_nap(10 * HD_NS_PER_MS);
        main_thread_sample(t, pid, started_ns, hd_os_now_ns(), false);
    }
    main_thread_end(t, hd_os_now_ns());
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return main_thread_most(t);
}

static void each_state_is_known(void **state) {
    (void)state;
    static const struct {
        void (*does)(void);
        enum main_thread_state state;
    } cases[] = {{sleep_on, MAIN_THREAD_SLEPT},
                 {run_on, MAIN_THREAD_RAN},
                 {wait_for_a_child, MAIN_THREAD_CHILD},
                 {poll_on, MAIN_THREAD_LOOP},
                 {read_on, MAIN_THREAD_INPUT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct main_thread t = {0};
        assert_int_equal(sampled(cases[i].does, &t), cases[i].state);
        assert_true(t.spent_ns[cases[i].state] > 300 * HD_NS_PER_MS);
    }
}

static void the_child_has_its_name(void **state) {
    (void)state;
    struct main_thread t = {0};
    char own[16] = "";
    FILE *comm = fopen("/proc/self/comm", "re");
    assert_non_null(comm);
    assert_int_equal(fscanf(comm, "%15s", own), 1);
    fclose(comm);
    sampled(wait_for_a_child, &t);
    assert_true(t.child > 0);
    assert_string_equal(t.child_name, own);
}

static void the_time_after_the_end_does_not_count(void **state) {
    (void)state;
    struct main_thread t = {0};
    uint64_t started_ns = hd_os_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    uint64_t ended_ns = hd_os_now_ns();
    hd_os_nap(200 * HD_NS_PER_MS);
    main_thread_sample(&t, pid, started_ns, hd_os_now_ns(), false);
    main_thread_end(&t, ended_ns);
    waitpid(pid, NULL, 0);
    assert_true(t.spent_ns[main_thread_most(&t)] <= ended_ns - started_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_is_known),
        cmocka_unit_test(the_child_has_its_name),
        cmocka_unit_test(the_time_after_the_end_does_not_count),
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
