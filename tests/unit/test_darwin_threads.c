/* SPDX-License-Identifier: MIT
 *
 * The signals that a thread of ours blocks on Apple's systems.
 *
 * sources: src/os/darwin/threads.c
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/os.h"

static sigset_t blocked;

static void *read_mask(void *unused) {
    (void)unused;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    return NULL;
}

static void start_and_join(void) {
    struct hd_os_thread thread;
    assert_int_equal(hd_os_thread_start(&thread, NULL, 0, read_mask, NULL), 0);
    hd_os_thread_join(&thread);
}

static void signals_of_the_program_are_blocked(void **state) {
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM, SIGPROF, SIGABRT};
    (void)state;
    start_and_join();
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        assert_int_equal(sigismember(&blocked, signals[i]), 1);
    }
}

/* XNU keeps a blocked signal of a fault for later, and the thread fails again without end. */
static void a_fault_of_ours_ends_the_process(void **state) {
    static const int signals[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    (void)state;
    start_and_join();
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        assert_int_equal(sigismember(&blocked, signals[i]), 0);
    }
}

static void the_caller_keeps_its_mask(void **state) {
    sigset_t before, after;
    (void)state;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    start_and_join();
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < 32; signal++) {
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_of_the_program_are_blocked),
        cmocka_unit_test(a_fault_of_ours_ends_the_process),
        cmocka_unit_test(the_caller_keeps_its_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
