/* SPDX-License-Identifier: MIT
 *
 * Blocks that the program means: told as such, waited for in an inner loop, or in a pause. None is a hang,
 * nor a turn. And what comes after one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>

#include "library.h"

#define T THRESHOLD_MS

static int begin(void **state) {
    begin_library(state);
    looper_start(&looper, "main", 0);
    return 0;
}

static void expect_reports(size_t count) {
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    spool_expect(&spool, count);
}

static void meant(uint64_t ms) {
    hangdog_expect_block(looper.loop);
    hangdog_expect_block(looper.loop);
    block_sleep(ms);
    hangdog_expect_block_end(looper.loop);
    block_sleep(ms);
    hangdog_expect_block_end(looper.loop);
}

static void meant_then_not(uint64_t ms) {
    meant(ms);
    block_sleep_other(ms);
}

static void a_block_that_is_meant_is_none(void **state) {
    (void)state;
    looper_call(&looper, meant, 2 * T);
    expect_reports(0);
}

static void work_then_meant(uint64_t ms) {
    block_spin(T / 4);
    hangdog_expect_block(looper.loop);
    block_sleep(ms);
    hangdog_expect_block_end(looper.loop);
}

/* Nor is it of the turn before, or a turn of the session's. */
static void a_block_that_is_meant_is_no_turn(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        looper_call(&looper, work_then_meant, 3 * T);
    }
    expect_reports(0);
    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    const json_t *buckets = json_object_get(session, "turn_histogram");
    assert_true(json_array_size(buckets) > 0);
    for (size_t i = 0; i < json_array_size(buckets); i++) {
        assert_true(1ULL << i < T * MS || json_integer_value(json_array_get(buckets, i)) == 0);
    }
    json_decref(sessions);
}

static void after_a_block_that_is_meant_the_turn_starts_anew(void **state) {
    (void)state;
    looper_call(&looper, meant_then_not, 2 * T);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), 2 * T * MS);
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep_other));
    json_decref(hangs);
    expect_reports(1);
}

/* One in a launch does not end it: a launch is judged as such until the loop itself waits. */
static void a_block_that_is_meant_ends_no_launch(void **state) {
    (void)state;
    hangdog_options options = library_options(&spool);
    options.threshold_ns[HANGDOG_STATE_LAUNCH] = 60 * SECOND;
    assert_int_equal(hangdog_start(&options), 0);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    hangdog_expect_block(loop);
    nap_ms(3 * T);
    hangdog_expect_block_end(loop);
    nap_ms(2 * T);
    hangdog_before_wait(loop);
    nap_ms(T);
    hangdog_after_wait(loop);
    hangdog_loop_unwatch(loop);
    assert_int_equal(hangdog_stop(), 0);
    json_t *hangs = spool_reports(&spool, NULL, false), *sessions = spool_wait(&spool, "session", 1);
    assert_int_equal(json_array_size(hangs), 0);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    assert_true(report_ns(session, "launch_ns") >= 5 * T * MS);
    json_decref(hangs);
    json_decref(sessions);
}

/* Nor do many of them, between which the monitor looks at any moment. */
static void many_short_blocks_end_no_launch(void **state) {
    hangdog_totals totals = {.size = sizeof totals};
    (void)state;
    library_start(&spool);
    hangdog_loop *loop = hangdog_loop_watch("launching", 0);
    for (uint64_t end_ns = now_ns() + 3 * SECOND; now_ns() < end_ns;) {
        for (unsigned i = 0; i < 1000; i++) {
            hangdog_expect_block(loop);
            hangdog_expect_block_end(loop);
        }
    }
    assert_int_equal(hangdog_stats(&totals), 0);
    assert_int_equal(totals.launch_ns, 0);
    hangdog_loop_unwatch(loop);
}

static void nested(uint64_t ms) {
    hangdog_mark(looper.loop, HANGDOG_ENTRY);
    for (unsigned i = 0; i < 3; i++) { /* a modal loop that waits is idle */
        hangdog_before_wait(looper.loop);
        nap_ms(ms);
        hangdog_after_wait(looper.loop);
    }
    hangdog_mark(looper.loop, HANGDOG_EXIT);
}

static void a_nested_loop_that_waits_does_not_hang(void **state) {
    (void)state;
    looper_call(&looper, nested, 2 * T);
    expect_reports(0);
}

static void nested_then_not(uint64_t ms) {
    nested(ms);
    block_sleep_other(ms);
}

/* Right after a block that was meant: the word is that of an entry then. */
static void meant_and_nested_then_not(uint64_t ms) {
    meant(ms);
    nested_then_not(ms);
}

static void expect_what_came_after(void (*call)(uint64_t)) {
    looper_call(&looper, call, 2 * T);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), 2 * T * MS);
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep_other));
    json_decref(hangs);
    expect_reports(1);
}

/* The outer loop tells its waits alone, never its entry. */
static void after_a_nested_loop_the_outer_turn_starts_anew(void **state) {
    (void)state;
    expect_what_came_after(nested_then_not);
}

static void so_it_does_where_a_block_was_meant_before(void **state) {
    (void)state;
    expect_what_came_after(meant_and_nested_then_not);
}

/* ---- a pause ------------------------------------------------------------------------------------- */

/* Scenario 26. */
static void a_block_while_paused_is_none(void **state) {
    (void)state;
    hangdog_pause();
    hangdog_pause();
    looper_call(&looper, block_sleep, 3 * T);
    hangdog_resume();
    looper_call(&looper, block_sleep, 3 * T);
    hangdog_resume();
    uint64_t took = looper_call(&looper, block_sleep_other, 2 * T);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), took);
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep_other));
    json_decref(hangs);
    expect_reports(1);
}

static void a_hang_that_lasts_at_the_pause_ends_there(void **state) {
    (void)state;
    uint64_t began = now_ns();
    looper_post(&looper, block_sleep, 6 * T);
    spool_wait_for_one(&spool);
    hangdog_pause();
    uint64_t until_pause = now_ns() - began;
    looper_wait(&looper);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), until_pause);
    json_decref(hangs);
    hangdog_resume();
    expect_reports(1);
}

static void a_hang_that_lasts_at_resume_counts_from_there(void **state) {
    (void)state;
    hangdog_pause();
    uint64_t began = now_ns();
    looper_post(&looper, block_sleep, 8 * T);
    nap_ms(4 * T);
    hangdog_resume();
    uint64_t paused = now_ns() - began;
    looper_wait(&looper);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), looper.took_ns - paused);
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep));
    json_decref(hangs);
    expect_reports(1);
}

static atomic_bool enough;

static void *resume_on_and_on(void *unused) {
    while (!atomic_load(&enough)) {
        hangdog_resume();
    }
    return unused;
}

/* A resume too many is none. */
static void several_threads_that_resume_at_once_stop_no_watch(void **state) {
    (void)state;
    pthread_t threads[8];
    atomic_store(&enough, false);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, resume_on_and_on, NULL), 0);
    }
    for (uint64_t until_ns = now_ns() + SECOND; now_ns() < until_ns;) {
        hangdog_pause();
        hangdog_resume();
    }
    atomic_store(&enough, true);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    looper_call(&looper, block_sleep, 2 * T);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep));
    json_decref(hangs);
    expect_reports(1);
}

static atomic_bool sleeps;

static void *take_its_processor(void *unused) {
    while (!atomic_load(&sleeps)) {
    }
    return unused;
}

/* Half the time it waits for a processor. */
static void spin_then_sleep(uint64_t ms) {
    pthread_t rival;
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    if (pthread_setaffinity_np(pthread_self(), sizeof here, &here) != 0 ||
        pthread_create(&rival, NULL, take_its_processor, NULL) != 0) {
        return;
    }
    block_spin(ms);
    atomic_store(&sleeps, true);
    pthread_join(rival, NULL);
    block_sleep(ms);
}

static bool is_asleep(void *unused) {
    (void)unused;
    return atomic_load(&sleeps);
}

/* What the turn did before is none of it. */
static void a_hang_that_lasts_at_resume_has_figures_from_there(void **state) {
    (void)state;
    atomic_store(&sleeps, false);
    looper_post(&looper, spin_then_sleep, 6 * T);
    spool_wait_for_one(&spool);
    hangdog_pause();
    assert_true(wait_for(is_asleep, NULL));
    hangdog_resume();
    looper_wait(&looper);
    json_t *hangs = spool_wait(&spool, NULL, 2);
    const json_t *cause = json_object_get(json_array_get(hangs, 1), "cause");
    assert_string_equal(report_text(cause, "kind"), "sleep");
    assert_true(json_integer_value(json_object_get(cause, "run_delay_ns")) < (int64_t)(T * MS));
    json_decref(hangs);
    expect_reports(2);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end_library)
    const struct CMUnitTest side_by_side[] = {
        CASE(a_block_that_is_meant_is_none),
        CASE(a_block_that_is_meant_is_no_turn),
        CASE(after_a_block_that_is_meant_the_turn_starts_anew),
        cmocka_unit_test_setup_teardown(a_block_that_is_meant_ends_no_launch, begin_spool, end_library),
        cmocka_unit_test_setup_teardown(many_short_blocks_end_no_launch, begin_spool, end_library),
        CASE(a_nested_loop_that_waits_does_not_hang),
        CASE(after_a_nested_loop_the_outer_turn_starts_anew),
        CASE(so_it_does_where_a_block_was_meant_before),
        CASE(a_block_while_paused_is_none),
        CASE(a_hang_that_lasts_at_the_pause_ends_there),
        CASE(a_hang_that_lasts_at_resume_counts_from_there),
    };
    const struct CMUnitTest one_by_one[] = {
        CASE(several_threads_that_resume_at_once_stop_no_watch),
        CASE(a_hang_that_lasts_at_resume_has_figures_from_there),
    };
    int failed = run_side_by_side(side_by_side, sizeof side_by_side / sizeof side_by_side[0]);
    return failed + cmocka_run_group_tests(one_by_one, NULL, NULL);
}
