/* SPDX-License-Identifier: MIT
 *
 * hangdog_stats() and hangdog_loop_stats(): from another thread while a loop hangs, from a signal handler,
 * and after the hangs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "library.h"

#define T THRESHOLD_MS

static hangdog_totals totals_now(void) {
    hangdog_totals t = {.size = sizeof t};
    assert_int_equal(hangdog_stats(&t), 0);
    return t;
}

static hangdog_loop_totals loop_now(void) {
    hangdog_loop_totals t = {.size = sizeof t};
    assert_int_equal(hangdog_loop_stats(looper.loop, &t), 0);
    return t;
}

static bool has_hangs(void *count) {
    return totals_now().hangs == *(uint64_t *)count;
}

static bool has_open_hang(void *unused) {
    (void)unused;
    return totals_now().open_hang_ns != 0;
}

static void two_hangs_are_in_the_totals(void **state) {
    uint64_t two = 2;
    (void)state;
    looper_start(&looper, "main", 0);
    uint64_t first = looper_call(&looper, block_sleep, 2 * T),
             second = looper_call(&looper, block_spin, 3 * T);
    assert_true(wait_for(has_hangs, &two));
    json_decref(spool_wait(&spool, NULL, 2));
    nap_ms(100); /* the monitor parks, and publishes before */
    hangdog_totals t = totals_now();
    assert_int_equal(t.size, sizeof t);
    assert_int_equal(t.loops, 1);
    assert_near(t.hang_ns, first + second);
    assert_near(t.hang_max_ns, second);
    assert_int_equal(t.open_hang_ns, 0);
    assert_true(t.turns >= 3 && t.turns < 20); /* the launch, and the two calls */
    assert_true(t.samples >= 10);
    assert_true(t.cpu_ns > 0 && t.launch_ns > 0);
    assert_true(t.busy_ns >= first + second && t.idle_ns > 0);
    assert_int_equal(t.reports_written, 2);
    assert_int_equal(t.reports_suppressed + t.reports_dropped + t.reports_failed, 0);
    assert_int_equal(t.interrupted_syscalls, 0);
    looper_stop(&looper);
}

static void another_thread_reads_while_a_loop_hangs(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    assert_int_equal(loop_now().running_ns, 0);
    uint64_t turns = loop_now().turns;
    looper_post(&looper, block_sleep, 10 * T);
    assert_true(wait_for(has_open_hang, NULL));
    hangdog_loop_totals loop = loop_now();
    assert_true(loop.running_ns >= T * MS && loop.running_ns < (SLOW ? 60 : 1) * 10 * T * MS);
    assert_true(loop.busy_ns >= loop.running_ns && loop.watched_ns >= loop.busy_ns);
    assert_int_equal(totals_now().hangs, 0);
    looper_wait(&looper);
    nap_ms(50); /* it waits again */
    loop = loop_now();
    assert_int_equal(loop.turns, turns + 1);
    assert_int_equal(loop.running_ns, 0);
    assert_true(loop.busy_ns >= 10 * T * MS);
    looper_stop(&looper);
    hangdog_loop_totals none = {.size = sizeof none};
    assert_int_equal(hangdog_loop_stats(looper.loop, &none), -ESRCH);
}

static hangdog_totals handled;
static _Atomic int answer;

static void handler(int signal) {
    (void)signal;
    handled.size = sizeof handled;
    answer = 1 - hangdog_stats(&handled); /* 1: it is read */
}

static bool is_answered(void *unused) {
    (void)unused;
    return answer != 0;
}

/* On the loop's own thread, in the middle of its hang. */
static void a_signal_handler_reads_them(void **state) {
    (void)state;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    looper_start(&looper, "main", 0);
    looper_post(&looper, block_spin, 6 * T);
    assert_true(wait_for(has_open_hang, NULL));
    assert_int_equal(pthread_kill(looper.thread, SIGUSR1), 0);
    assert_true(wait_for(is_answered, NULL));
    looper_wait(&looper);
    assert_int_equal(answer, 1);
    assert_true(handled.open_hang_ns >= T * MS);
    assert_int_equal(handled.loops, 1);
    looper_stop(&looper);
}

static void suppressed_reports_are_counted(void **state) {
    uint64_t three = 3;
    (void)state;
    assert_int_equal(hangdog_stop(), 0);
    hangdog_options o = library_options(&spool);
    o.reports_per_fingerprint = 1;
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    for (unsigned i = 0; i < 3; i++) {
        looper_call(&looper, block_sleep, 2 * T);
    }
    assert_true(wait_for(has_hangs, &three));
    looper_stop(&looper);
    nap_ms(100);
    hangdog_totals t = totals_now();
    assert_int_equal(t.reports_written, 1);
    assert_int_equal(t.reports_suppressed, 2);
}

static void mistakes_are_errors(void **state) {
    hangdog_totals t = {0};
    (void)state;
    assert_int_equal(hangdog_stats(NULL), -EINVAL);
    assert_int_equal(hangdog_stats(&t), -EINVAL);
    memset(&t, 0xff, sizeof t);
    t.size = offsetof(hangdog_totals, turns); /* an older program's */
    assert_int_equal(hangdog_stats(&t), 0);
    assert_int_equal(t.loops, 0);
    assert_true(t.turns == UINT64_MAX);
    assert_int_equal(hangdog_loop_stats(NULL, NULL), -EINVAL);
    assert_int_equal(hangdog_stop(), 0);
    t.size = sizeof t;
    assert_int_equal(hangdog_stats(&t), -ESRCH);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_library, end_library)
    const struct CMUnitTest tests[] = {
        CASE(two_hangs_are_in_the_totals), CASE(another_thread_reads_while_a_loop_hangs),
        CASE(a_signal_handler_reads_them), CASE(suppressed_reports_are_counted),
        CASE(mistakes_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
