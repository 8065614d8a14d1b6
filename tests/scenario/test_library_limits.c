/* SPDX-License-Identifier: MIT
 *
 * Thresholds and the interval of samples that change while a loop is watched, and while it hangs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "library.h"

#define FAR (2 * SECOND)
#define NEAR (200 * MS)
#define HANG_MS 500

static bool has_a_report(void *unused) {
    (void)unused;
    return spool_count(&spool) != 0;
}

static uint64_t samples_of(const json_t *report) {
    return report_ns(json_object_get(report, "monitor"), "samples");
}

static void a_lower_threshold_makes_a_hang_and_a_higher_one_none(void **state) {
    (void)state;
    looper_start(&looper, "main", FAR);
    looper_call(&looper, block_sleep, HANG_MS);
    spool_expect(&spool, 0);
    assert_int_equal(hangdog_set_threshold(looper.loop, NEAR), 0);
    uint64_t took = looper_call(&looper, block_sleep, HANG_MS);
    json_t *hangs = spool_wait(&spool, "hang", 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), took);
    assert_true(report_ns(json_array_get(hangs, 0), "threshold_ns") == NEAR);
    json_decref(hangs);
    assert_int_equal(hangdog_set_threshold(looper.loop, FAR), 0);
    looper_call(&looper, block_sleep, HANG_MS);
    looper_stop(&looper);
    spool_expect(&spool, 1);
}

/* The turn has run for 300 ms; the loop has marked nothing since. */
static void the_turn_that_runs_has_the_new_threshold(void **state) {
    (void)state;
    looper_start(&looper, "main", 60 * SECOND);
    looper_post(&looper, block_sleep, SANITIZED ? 6000 : 2000);
    nap_ms(300);
    spool_expect(&spool, 0);
    uint64_t changed = now_ns();
    assert_int_equal(hangdog_set_threshold(looper.loop, NEAR), 0);
    assert_true(wait_for(has_a_report, NULL));
    assert_true(SLOW || now_ns() - changed < 500 * MS);
    looper_wait(&looper);
    json_t *hangs = spool_wait(&spool, "hang", 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), looper.took_ns);
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep));
    json_decref(hangs);
    looper_stop(&looper);
}

static void a_states_threshold_is_that_of_all_loops(void **state) {
    (void)state;
    assert_int_equal(hangdog_set_state_threshold(HANGDOG_STATE_FOREGROUND, FAR), 0);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, HANG_MS);
    spool_expect(&spool, 0);
    assert_int_equal(hangdog_set_state_threshold(HANGDOG_STATE_FOREGROUND, NEAR), 0);
    looper_call(&looper, block_sleep, HANG_MS);
    json_decref(spool_wait(&spool, "hang", 1));
    looper_stop(&looper);
}

static void spin_here_and_there(uint64_t ms) {
    for (uint64_t i = 0; i < ms / 40; i++) {
        block_spin(20);
        spin_ms(20);
    }
}

static void a_longer_interval_takes_fewer_samples(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_call(&looper, spin_here_and_there, 1000);
    json_decref(spool_wait(&spool, "hang", 1));
    assert_int_equal(hangdog_set_interval(10 * INTERVAL_MS * MS), 0);
    uint64_t took = looper_call(&looper, spin_here_and_there, 1000);
    looper_stop(&looper);
    json_t *hangs = spool_wait(&spool, "hang", 2);
    uint64_t before = samples_of(json_array_get(hangs, 0)), after = samples_of(json_array_get(hangs, 1));
    json_decref(hangs);
    assert_true(SLOW || before > 40);
    assert_true(after >= 1 && after <= took / (5 * INTERVAL_MS * MS));
}

static void mistakes_are_errors(void **state) {
    (void)state;
    assert_int_equal(hangdog_set_threshold(NULL, SECOND), -EINVAL);
    assert_int_equal(hangdog_set_state_threshold(HANGDOG_STATES, SECOND), -EINVAL);
    assert_int_equal(hangdog_set_state_threshold(HANGDOG_STATE_QUIT, 0), -EINVAL);
    assert_int_equal(hangdog_set_interval(MS - 1), -EINVAL);
    assert_int_equal(hangdog_set_interval(SECOND + 1), -EINVAL);
    looper_start(&looper, "main", 0);
    looper_stop(&looper);
    assert_int_equal(hangdog_set_threshold(looper.loop, SECOND), -ESRCH);
    assert_int_equal(hangdog_stop(), 0);
    assert_int_equal(hangdog_set_interval(SECOND), -ESRCH);
    assert_int_equal(hangdog_set_state_threshold(HANGDOG_STATE_QUIT, SECOND), -ESRCH);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_library, end_library)
    const struct CMUnitTest tests[] = {
        CASE(a_lower_threshold_makes_a_hang_and_a_higher_one_none),
        CASE(the_turn_that_runs_has_the_new_threshold),
        CASE(a_states_threshold_is_that_of_all_loops),
        CASE(a_longer_interval_takes_fewer_samples),
        CASE(mistakes_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
