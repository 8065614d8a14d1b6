/* SPDX-License-Identifier: MIT
 *
 * The program's states, each with a threshold of its own; and what kind of report comes of a state, and of
 * many threads; what a run leaves that had no other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <semaphore.h>

#include "library.h"

#define T THRESHOLD_MS
#define NEVER_MS 600000u
#define MANY 64 /* threads; more are too many */
#define OURS 2
#define ROUNDS 3

/* ---- thresholds ----------------------------------------------------------------------------------- */

/* All others are never reached. */
static void start_in(hangdog_state state, uint64_t threshold_ms) {
    hangdog_options o = library_options(&spool);
    for (unsigned i = 0; i < HANGDOG_STATES; i++) {
        o.threshold_ns[i] = (i == state ? threshold_ms : NEVER_MS) * MS;
    }
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    hangdog_set_state(state);
}

static void stop_with_reports(size_t count) {
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    spool_expect(&spool, count);
}

static void each_state_has_its_own_threshold(void **state) {
    (void)state;
    static const struct {
        hangdog_state state;
        const char *name, *kind;
    } states[] = {{HANGDOG_STATE_FOREGROUND, "foreground", "hang"},
                  {HANGDOG_STATE_BACKGROUND, "background", "background-hang"},
                  {HANGDOG_STATE_RESUME, "resume", "hang"},
                  {HANGDOG_STATE_SUSPEND, "suspend", "hang"},
                  {HANGDOG_STATE_QUIT, "quit", "hang"}};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        start_in(states[i].state, T);
        looper_call(&looper, block_sleep, T + T / 2);
        json_t *reports = spool_wait(&spool, NULL, i + 1);
        const json_t *report = json_array_get(reports, i);
        assert_string_equal(report_text(report, "kind"), states[i].kind);
        assert_string_equal(report_text(json_object_get(report, "loop"), "state"), states[i].name);
        assert_int_equal(report_ns(report, "threshold_ns"), T * MS);
        json_decref(reports);
        stop_with_reports(i + 1);
    }
}

static void in_the_background_another_threshold_and_another_kind(void **state) {
    (void)state;
    hangdog_options o = library_options(&spool);
    o.threshold_ns[HANGDOG_STATE_BACKGROUND] = 4 * T * MS;
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    hangdog_set_state(HANGDOG_STATE_BACKGROUND);
    looper_call(&looper, block_sleep, SANITIZED ? T / 2 : 2 * T);
    looper_call(&looper, block_sleep_other, 6 * T);
    json_t *reports = spool_wait(&spool, NULL, 1);
    assert_string_equal(report_text(json_array_get(reports, 0), "kind"), "background-hang");
    assert_true(report_blames(json_array_get(reports, 0), block_sleep_other));
    json_decref(reports);
    stop_with_reports(1);
}

static void in_and_out_of_the_background(uint64_t ms) {
    for (unsigned i = 0; i < 2; i++) {
        block_sleep(2 * T);
        hangdog_set_state(HANGDOG_STATE_BACKGROUND);
        block_sleep(ms);
        hangdog_set_state(HANGDOG_STATE_FOREGROUND);
    }
    block_sleep(2 * T);
}

static uint64_t background_of(const json_t *report) {
    return report_ns(json_object_get(report, "loop"), "background_ns");
}

/* Scenario 14: it is the foreground's hang, by that threshold, and none of its time is lost. */
static void a_hang_says_how_much_of_it_was_in_the_background(void **state) {
    (void)state;
    hangdog_options o = library_options(&spool);
    o.threshold_ns[HANGDOG_STATE_BACKGROUND] = NEVER_MS * MS;
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    looper_call(&looper, in_and_out_of_the_background, 3 * T);
    looper_call(&looper, block_sleep_other, 3 * T);
    json_t *hangs = spool_wait(&spool, "hang", 2);
    const json_t *first = json_array_get(hangs, 0), *next = json_array_get(hangs, 1);
    assert_near(report_ns(first, "duration_ns"), 12 * T * MS);
    assert_near(background_of(first), 6 * T * MS);
    assert_string_equal(report_text(json_object_get(first, "loop"), "state"), "foreground");
    assert_near(report_ns(next, "duration_ns"), 3 * T * MS);
    assert_null(json_object_get(json_object_get(next, "loop"), "background_ns"));
    json_decref(hangs);
    stop_with_reports(2);
}

static void left_in_the_background(uint64_t ms) {
    block_sleep(ms);
    hangdog_set_state(HANGDOG_STATE_FOREGROUND);
    block_sleep(ms);
}

/* The other way round: it is the background's, also after the program has come back. */
static void a_background_hang_stays_one_in_the_foreground(void **state) {
    (void)state;
    library_start(&spool);
    looper_start(&looper, "main", 0);
    hangdog_set_state(HANGDOG_STATE_BACKGROUND);
    looper_call(&looper, left_in_the_background, 2 * T);
    json_t *hangs = spool_wait(&spool, "background-hang", 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), 4 * T * MS);
    assert_near(background_of(json_array_get(hangs, 0)), 2 * T * MS);
    json_decref(hangs);
    stop_with_reports(1);
}

static void nothing(uint64_t unused) {
    (void)unused;
}

/* Each block begins and ends in the interval for which the monitor stays awake after two short turns, without
 * asking anybody. */
static void a_threshold_below_the_interval_loses_no_hang(void **state) {
    (void)state;
    for (unsigned own = 0; own < 2; own++) { /* the option's, the loop's */
        hangdog_options o = library_options(&spool);
        o.interval_ns = SECOND;
        for (unsigned i = 0; i < HANGDOG_STATES; i++) {
            o.threshold_ns[i] = own ? NEVER_MS * MS : 2 * T * MS;
        }
        assert_int_equal(hangdog_start(&o), 0);
        looper_start(&looper, "main", own ? 2 * T * MS : 0);
        for (unsigned i = 0; i < ROUNDS; i++) {
            nap_ms(1200); /* it is parked */
            for (unsigned turn = 0; turn < 2; turn++) {
                looper_call(&looper, nothing, 0);
                nap_ms(1);
            }
            looper_call(&looper, block_sleep, 4 * T);
        }
        json_decref(spool_wait(&spool, "hang", ROUNDS * (own + 1)));
        stop_with_reports(ROUNDS * (own + 1));
    }
}

static const char *activity_of(const json_t *report) {
    return report_text(json_object_get(report, "loop"), "activity");
}

static void after_some_time_before_the_timers(uint64_t ms) {
    block_sleep(T / 4);
    hangdog_mark(looper.loop, HANGDOG_BEFORE_TIMERS);
    block_sleep_other(ms);
}

/* Not that in which it was when its samples began. */
static void the_activity_is_that_of_the_hang(void **state) {
    (void)state;
    library_start(&spool);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 2 * T);
    looper_call(&looper, after_some_time_before_the_timers, 2 * T);
    json_t *hangs = spool_wait(&spool, "hang", 2);
    assert_string_equal(activity_of(json_array_get(hangs, 0)), "after-waiting");
    assert_string_equal(activity_of(json_array_get(hangs, 1)), "before-timers");
    json_decref(hangs);
    stop_with_reports(2);
}

static void before_the_sources_and_another_turn(uint64_t ms) {
    hangdog_mark(looper.loop, HANGDOG_BEFORE_SOURCES);
    block_sleep(ms);
    hangdog_turn(looper.loop);
    block_sleep(T / 10);
}

static bool have_come(size_t count, unsigned ms) {
    for (unsigned waited = 0; waited < ms && spool_count(&spool) < count; waited += 50) {
        nap_ms(50);
    }
    return spool_count(&spool) >= count;
}

/* It ends between the look at 800 ms, from which on it is sampled, and the one at 1,200 ms. Where the machine
 * stood still meanwhile, that and half a look are taken off, and it is no hang: once more. */
static void it_is_not_that_of_the_turn_after_it(void **state) {
    (void)state;
    hangdog_options o = library_options(&spool);
    for (unsigned i = 0; i < HANGDOG_STATES; i++) {
        o.threshold_ns[i] = 5 * T * MS;
    }
    o.interval_ns = 2 * T * MS;
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 8 * T);
    for (unsigned i = 0; i < 3 && !have_come(2, 0); i++) {
        looper_call(&looper, before_the_sources_and_another_turn, 5 * T + T / 2);
        (void)have_come(2, 3000);
    }
    json_t *hangs = spool_wait(&spool, "hang", 2);
    assert_string_equal(activity_of(json_array_get(hangs, 1)), "before-sources");
    json_decref(hangs);
    stop_with_reports(2);
}

/* Nothing but a launch: no turn of it has ended. */
static void a_run_that_hangs_in_its_only_turn_has_a_session(void **state) {
    (void)state;
    library_start(&spool);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    assert_non_null(loop);
    block_sleep(2 * T);
    assert_int_equal(hangdog_stop(), 0);
    hangdog_loop_unwatch(loop);
    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    assert_int_equal(report_ns(session, "hangs"), 1);
    assert_int_equal(report_ns(session, "turns"), 0);
    json_decref(sessions);
    spool_expect(&spool, 1);
}

/* What came before the watch was seen by nobody: it is part of the launch, and no function's. */
static void a_launch_begins_at_the_start(void **state) {
    (void)state;
    uint64_t before_ns = now_ns();
    library_start(&spool);
    uint64_t started_ns = now_ns();
    block_sleep_other(2 * T); /* loading */
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    assert_non_null(loop);
    uint64_t watched_ns = now_ns();
    block_sleep(T);
    hangdog_before_wait(loop);
    uint64_t idle_ns = now_ns();
    json_t *reports = spool_wait(&spool, "launch", 1);
    const json_t *launch = json_array_get(reports, 0), *hot = json_object_get(launch, "hot_stack");
    const struct between truth = {idle_ns - started_ns, idle_ns - before_ns};
    assert_between(report_ns(launch, "duration_ns"), truth);
    assert_true(report_blames(launch, block_sleep));
    double seen = (double)(idle_ns - watched_ns) / (double)(idle_ns - started_ns);
    if (!report_guesses(launch) && json_number_value(json_object_get(hot, "share")) > seen + 0.05) {
        json_dumpf(launch, stderr, JSON_INDENT(1));
        fail_msg("only %.2f of the launch was seen", seen);
    }
    json_decref(reports);
    hangdog_after_wait(loop);
    hangdog_loop_unwatch(loop);
    assert_int_equal(hangdog_stop(), 0);
    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    assert_between(report_ns(session, "launch_ns"), truth);
    json_decref(sessions);
}

/* And one that was over by then: it is looked at before the thread goes on, if that was quick enough. */
static void reports_a_launch_that_ended_before_the_watch(void **state) {
    (void)state;
    json_t *reports = json_array();
    for (unsigned tries = 0; tries < 10 && json_array_size(reports) == 0; tries++) {
        library_start(&spool);
        block_sleep_other(2 * T); /* loading */
        hangdog_loop *loop = hangdog_loop_watch("main", 0);
        assert_non_null(loop);
        hangdog_before_wait(loop);
        nap_ms(T);
        hangdog_after_wait(loop);
        hangdog_loop_unwatch(loop);
        assert_int_equal(hangdog_stop(), 0);
        json_decref(spool_wait(&spool, "session", tries + 1));
        json_decref(reports);
        reports = spool_reports(&spool, "launch", true);
    }
    const json_t *launch = json_array_get(reports, 0);
    assert_non_null(launch);
    assert_near(report_ns(launch, "duration_ns"), 2 * T * MS);
    assert_string_equal(report_cause(launch), "unknown"); /* and not what its one sample saw */
    json_decref(reports);
}

/* ---- many threads --------------------------------------------------------------------------------- */

static sem_t over;

static void *wait_for_the_end(void *unused) {
    while (sem_wait(&over) != 0) {
    }
    return unused;
}

static void expect_next(const char *kind) {
    static size_t count;
    looper_call(&looper, count % 2 == 0 ? block_sleep : block_sleep_other, T + T / 2);
    json_t *reports = spool_wait(&spool, NULL, ++count);
    assert_string_equal(report_text(json_array_get(reports, count - 1), "kind"), kind);
    json_decref(reports);
}

/* Ours are not counted. */
static void with_more_than_so_many_threads_it_is_too_many_threads_whatever_the_state(void **state) {
    (void)state;
    pthread_t thread[MANY];
    unsigned threads = 0;
    library_start(&spool);
    looper_start(&looper, "main", 0);
    sem_init(&over, 0, 0);
    while (entries_of("/proc/self/task") < MANY + OURS) {
        assert_int_equal(pthread_create(&thread[threads++], NULL, wait_for_the_end, NULL), 0);
    }
    expect_next("hang");
    hangdog_set_state(HANGDOG_STATE_BACKGROUND);
    expect_next("background-hang");
    assert_int_equal(pthread_create(&thread[threads++], NULL, wait_for_the_end, NULL), 0);
    expect_next("too-many-threads");
    hangdog_set_state(HANGDOG_STATE_FOREGROUND);
    expect_next("too-many-threads");
    for (unsigned i = 0; i < threads; i++) {
        sem_post(&over);
    }
    for (unsigned i = 0; i < threads; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    looper_stop(&looper);
}

/* ---- how long it was which -------------------------------------------------------------------------- */

static void a_session_has_the_time_in_the_foreground(void **state) {
    (void)state;
    library_start(&spool);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, T / 4);
    uint64_t begun = now_ns();
    hangdog_set_state(HANGDOG_STATE_BACKGROUND);
    looper_call(&looper, block_sleep, T / 2);
    hangdog_set_state(HANGDOG_STATE_SUSPEND);
    looper_call(&looper, block_sleep, T / 4);
    uint64_t elsewhere = now_ns() - begun;
    hangdog_set_state(HANGDOG_STATE_FOREGROUND);
    hangdog_set_state(HANGDOG_STATE_FOREGROUND);
    looper_call(&looper, block_sleep, T / 4);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    assert_near(report_ns(session, "foreground_ns"), report_ns(session, "used_ns") - elsewhere);
    json_decref(sessions);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_spool, end_library)
    const struct CMUnitTest tests[] = {
        CASE(each_state_has_its_own_threshold),
        CASE(in_the_background_another_threshold_and_another_kind),
        CASE(a_hang_says_how_much_of_it_was_in_the_background),
        CASE(a_background_hang_stays_one_in_the_foreground),
        CASE(a_threshold_below_the_interval_loses_no_hang),
        CASE(a_session_has_the_time_in_the_foreground),
        CASE(the_activity_is_that_of_the_hang),
        CASE(it_is_not_that_of_the_turn_after_it),
        CASE(a_run_that_hangs_in_its_only_turn_has_a_session),
        CASE(a_launch_begins_at_the_start),
        CASE(reports_a_launch_that_ended_before_the_watch),
        CASE(with_more_than_so_many_threads_it_is_too_many_threads_whatever_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
