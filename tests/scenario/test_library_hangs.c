/* SPDX-License-Identifier: MIT
 *
 * A hand-written epoll loop, watched by the library: what is a hang and what is not, its duration, its
 * function, its cause; repeats and caps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/instance_private.h"
#include "control/settings.h"
#include "library.h"
#include "monitor/budget.h"

#define T THRESHOLD_MS

/* Thresholds where no hang is expected: a thread that gets no processor for so long does hang. */
#define LATE_MS 1000
#define NEVER_LATE_MS 2000

/* Stops, which writes the session report: after it, what was not reported will not be. */
static void stop_and_expect_no_report(void) {
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    spool_expect(&spool, 0);
}

/* Scenario 1. */
static void three_blocks_over_the_threshold_are_three_hangs(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    uint64_t took[3];
    for (unsigned i = 0; i < 3; i++) {
        took[i] = looper_call(&looper, block_sleep, 2 * T);
    }
    json_t *hangs = spool_wait(&spool, NULL, 3);
    for (unsigned i = 0; i < 3; i++) {
        const json_t *hang = json_array_get(hangs, i);
        assert_string_equal(report_text(hang, "kind"), "hang");
        assert_near(report_ns(hang, "duration_ns"), took[i]);
        assert_string_equal(report_cause(hang), "sleep");
        assert_true(report_blames(hang, block_sleep));
    }
    json_decref(hangs);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    json_t *session = spool_wait(&spool, "session", 1);
    const json_t *session_of = json_object_get(json_array_get(session, 0), "session");
    assert_int_equal(report_ns(session_of, "hangs"), 3);
    assert_near(report_ns(session_of, "hang_ns"), took[0] + took[1] + took[2]);
    json_decref(session);
}

/* Scenario 2. */
static void three_short_blocks_are_none(void **state) {
    (void)state;
    looper_start(&looper, "main", NEVER_LATE_MS * MS);
    for (unsigned i = 0; i < 3; i++) {
        looper_call(&looper, block_sleep, T / 10);
    }
    stop_and_expect_no_report();
}

/* Scenario 3. */
static void just_below_is_none_and_just_over_is_one(void **state) {
    (void)state;
    uint64_t threshold_ms = 1000;
    looper_start(&looper, "main", threshold_ms * MS);
    uint64_t below = looper_call(&looper, block_sleep, threshold_ms / 10 * 9);
    uint64_t over = looper_call(&looper, block_sleep_other, threshold_ms + INTERVAL_MS);
    json_t *hangs;
    if (below < threshold_ms * MS) {
        hangs = spool_wait(&spool, NULL, 1);
        assert_true(report_blames(json_array_get(hangs, 0), block_sleep_other));
        assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), over);
        assert_int_equal(report_ns(json_array_get(hangs, 0), "threshold_ns"), threshold_ms * MS);
    } else { /* the machine was elsewhere for a tenth of a second */
        hangs = spool_wait(&spool, NULL, 2);
    }
    json_decref(hangs);
    looper_stop(&looper);
}

/* Scenario 5. */
static void a_hang_has_its_true_start_and_duration(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    uint64_t took = looper_call(&looper, block_spin, 3 * T);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(hangs, 0);
    assert_near(report_ns(hang, "duration_ns"), took);
    assert_true(report_ns(hang, "duration_ns") + MS >= took); /* the turn holds the call */
    assert_near(report_started_ns(hang), looper.began_wall_ns);
    assert_true(report_blames(hang, block_spin));
    assert_string_equal(report_text(json_object_get(hang, "loop"), "name"), "main");
    assert_string_equal(report_text(json_object_get(hang, "loop"), "state"), "foreground");
    json_decref(hangs);
    looper_stop(&looper);
}

/* Scenario 8. */
static void normal_turns_after_a_hang_are_no_hangs(void **state) {
    (void)state;
    looper_start(&looper, "main", LATE_MS * MS);
    looper_call(&looper, block_sleep, LATE_MS + 2 * T);
    for (unsigned i = 0; i < 30; i++) {
        looper_call(&looper, block_sleep, T / 20);
    }
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    json_decref(spool_wait(&spool, NULL, 1));
}

static void turns_without_a_wait(uint64_t ms) {
    uint64_t until = now_ns() + ms * MS;
    while (now_ns() < until) {
        nap_ms(5);
        hangdog_turn(looper.loop);
    }
}

/* Scenario 9. */
static void a_loop_that_turns_without_sleeping_does_not_hang(void **state) {
    (void)state;
    looper_start(&looper, "main", LATE_MS * MS);
    looper_call(&looper, turns_without_a_wait, 2 * LATE_MS);
    stop_and_expect_no_report();
}

/* Scenario 33: sampled at its end, it is in the other function. */
static void most_and_last(uint64_t ms) {
    block_sleep(ms * 8 / 10);
    block_sleep_other(ms * 2 / 10);
}

static void the_function_with_most_of_the_time_is_blamed_not_the_last(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_call(&looper, most_and_last, 1000);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hot = json_object_get(json_array_get(hangs, 0), "hot_stack");
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep));
    bool guess = report_guesses(json_array_get(hangs, 0));
    assert_true(guess || !report_blames(json_array_get(hangs, 0), block_sleep_other));
    double share = json_number_value(json_object_get(hot, "share"));
    assert_true(guess || (share > 0.7 && share < 0.9));
    json_decref(hangs);
    looper_stop(&looper);
}

/* Scenario 11. */
static void a_block_before_the_first_wait_is_a_slow_launch(void **state) {
    (void)state;
    uint64_t begun_ns = now_ns();
    hangdog_loop *loop = hangdog_loop_watch("main", 60 * SECOND); /* of the foreground: not the launch's */
    assert_non_null(loop);
    block_sleep(2 * T);
    hangdog_before_wait(loop);
    struct between launch = {2 * T * MS, now_ns() - begun_ns}; /* a busy machine makes the sleep longer */
    json_t *reports = spool_wait(&spool, NULL, 1);
    assert_string_equal(report_text(json_array_get(reports, 0), "kind"), "launch");
    assert_between(report_ns(json_array_get(reports, 0), "duration_ns"), launch);
    json_decref(reports);
    hangdog_after_wait(loop);
    block_sleep(2 * T); /* launched: the loop's own threshold counts */
    hangdog_before_wait(loop);
    hangdog_loop_unwatch(loop);
    assert_int_equal(hangdog_stop(), 0);
    json_decref(spool_wait(&spool, NULL, 1));
}

/* Where the loop has to be recognised: who worked for so long before it had one was not launching. */
static void a_launch_that_was_known_too_late_is_none(void **state) {
    (void)state;
    assert_int_equal(hangdog_stop(), 0);
    struct hd_settings settings;
    hd_settings_init(&settings);
    settings.interval_ns = INTERVAL_MS * MS;
    settings.threshold_ns[HANGDOG_STATE_LAUNCH] = T * MS;
    memcpy(settings.spool, spool.path, sizeof spool.path);
    for (unsigned late = 0; late < 2; late++) {
        struct hd_run *m;
        settings.launch_known_ns = late ? 8 * T * MS : 60 * SECOND;
        assert_int_equal(hd_instance_start(&settings, &(struct hd_ports){0}, NULL, &m), 0);
        hangdog_loop *loop = hangdog_loop_watch("main", 0);
        assert_non_null(loop);
        block_sleep(late ? 10 * T : 2 * T);
        hangdog_before_wait(loop);
        hangdog_loop_unwatch(loop);
        assert_int_equal(hangdog_stop(), 0);
        spool_expect(&spool, 1); /* also one that was never completed */
    }
}

static void block_and_go_to_the_background(uint64_t ms) {
    block_sleep(ms);
    hangdog_set_state(HANGDOG_STATE_BACKGROUND);
}

/* It was one by the threshold of the state that it lasted in. */
static void a_state_that_changes_as_a_hang_ends_does_not_undo_it(void **state) {
    (void)state;
    assert_int_equal(hangdog_stop(), 0);
    hangdog_options o = library_options(&spool);
    o.threshold_ns[HANGDOG_STATE_BACKGROUND] = 60 * SECOND;
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 1);
    looper_call(&looper, block_and_go_to_the_background, 2 * T);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_string_equal(report_text(json_array_get(hangs, 0), "kind"), "hang");
    assert_int_equal(report_ns(json_array_get(hangs, 0), "threshold_ns"), T * MS);
    json_decref(hangs);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    json_decref(spool_wait(&spool, NULL, 1)); /* and not withdrawn since */
}

static void the_same_hang_again_is_reported_in_brief(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 2 * T);
    uint64_t took = looper_call(&looper, block_sleep, 2 * T);
    looper_call(&looper, block_sleep, 2 * T);
    looper_call(&looper, block_spin, 2 * T);
    json_t *hangs = spool_wait(&spool, NULL, 4);
    const json_t *first = json_array_get(hangs, 0), *again = json_array_get(hangs, 1),
                 *third = json_array_get(hangs, 2), *another = json_array_get(hangs, 3);
    assert_string_equal(report_text(first, "repeat_of"), "");
    assert_non_null(json_object_get(first, "samples"));
    assert_string_equal(report_text(again, "repeat_of"), report_text(first, "id"));
    assert_string_equal(report_text(third, "repeat_of"), report_text(first, "id")); /* that is whole */
    assert_string_equal(report_text(again, "fingerprint"), report_text(first, "fingerprint"));
    assert_null(json_object_get(again, "samples"));
    assert_null(json_object_get(again, "threads"));
    assert_near(report_ns(again, "duration_ns"), took);
    assert_string_equal(report_cause(again), "sleep");
    assert_true(report_blames(again, block_sleep));
    assert_string_equal(report_text(another, "repeat_of"), "");
    assert_string_not_equal(report_text(another, "fingerprint"), report_text(first, "fingerprint"));
    json_decref(hangs);
    looper_stop(&looper);
}

static bool by_another_way;

/* The same functions of the program's, and another one of the C library's. */
static __attribute__((noinline)) void block_by_one_of_two(uint64_t ms) {
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * MS)};
    if (by_another_way) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    } else {
        nanosleep(&time, NULL);
    }
    __asm__ volatile("");
}

static void a_report_that_has_not_all_of_a_hang_is_not_repeated(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_by_one_of_two, 2 * T);
    by_another_way = true; /* another stack */
    looper_call(&looper, block_by_one_of_two, 2 * T);
    looper_call(&looper, block_by_one_of_two, 4 * T); /* more of it */
    looper_call(&looper, block_by_one_of_two, 3 * T);
    json_t *hangs = spool_wait(&spool, NULL, 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *hang = json_array_get(hangs, i);
        assert_string_equal(report_text(hang, "fingerprint"),
                            report_text(json_array_get(hangs, 0), "fingerprint"));
        assert_string_equal(report_text(hang, "repeat_of"),
                            i == 3 ? report_text(json_array_get(hangs, 2), "id") : "");
    }
    json_decref(hangs);
    looper_stop(&looper);
}

/* Swept by somebody, dropped for a newer one, or never written: the disk was full. */
static void a_report_that_is_gone_is_not_repeated(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 2 * T);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    char name[64];
    snprintf(name, sizeof name, "%s.json", report_text(json_array_get(hangs, 0), "id"));
    json_decref(hangs);
    assert_int_equal(unlinkat(spool.fd, name, 0), 0);
    looper_call(&looper, block_sleep, 2 * T);
    hangs = spool_wait(&spool, NULL, 1);
    assert_string_equal(report_text(json_array_get(hangs, 0), "repeat_of"), "");
    assert_non_null(json_object_get(json_array_get(hangs, 0), "samples"));
    json_decref(hangs);
    looper_stop(&looper);
}

static void spin_then_sleep(uint64_t ms) {
    block_spin(ms);
    block_sleep(ms / 4);
}

/* How the hot stack was taken, not how the last sample was. */
static void writes_how_the_hot_stack_was_taken(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_call(&looper, spin_then_sleep, 2 * T);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(hangs, 0), *hot = json_object_get(hang, "hot_stack");
    if (!SANITIZED && strcmp(report_cause(hang), "starved") != 0) {
        assert_true(report_blames(hang, block_spin));
        assert_string_equal(report_text(hot, "capture"), "signalled");
    }
    json_decref(hangs);
    looper_stop(&looper);
}

static char fifo[80];

static void *write_later(void *ms) {
    nap_ms(*(uint64_t *)ms);
    int fd = open(fifo, O_WRONLY | O_CLOEXEC);
    nap_ms(*(uint64_t *)ms);
    assert_int_equal(write(fd, "", 1), 1);
    close(fd);
    return NULL;
}

/* Blocked in openat until somebody writes to it, then in read until there is something. */
static void read_named_pipe(uint64_t ms) {
    pthread_t writer;
    char byte;
    assert_int_equal(pthread_create(&writer, NULL, write_later, &ms), 0);
    int fd = open(fifo, O_RDONLY | O_CLOEXEC);
    hangdog_before_wait(looper.loop);
    hangdog_after_wait(looper.loop);
    assert_int_equal(read(fd, &byte, 1), 1);
    close(fd);
    pthread_join(writer, NULL);
}

static void a_named_pipe_is_no_file(void **state) {
    (void)state;
    snprintf(fifo, sizeof fifo, "%s/a pipe", spool.path);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    looper_start(&looper, "main", 0);
    looper_call(&looper, read_named_pipe, 2 * T);
    json_t *hangs = spool_wait(&spool, NULL, 2);
    const json_t *by_path = json_object_get(json_array_get(hangs, 0), "cause");
    const json_t *by_descriptor = json_object_get(json_array_get(hangs, 1), "cause");
    assert_string_equal(report_text(by_path, "path"), "a pipe"); /* the call's path, without its folders */
    assert_non_null(strstr(report_text(by_descriptor, "detail"), "waited in read on a pipe"));
    assert_string_not_equal(report_cause(json_array_get(hangs, 1)), "disk");
    json_decref(hangs);
    looper_stop(&looper);
    assert_int_equal(unlink(fifo), 0);
}

static void start_with_caps(uint32_t a_day, uint32_t of_a_kind) {
    hangdog_options o = library_options(&spool);
    o.reports_per_day = a_day;
    o.reports_per_fingerprint = of_a_kind;
    assert_int_equal(hangdog_stop(), 0);
    spool_remove(&spool); /* with the session report of the run that ended */
    spool_make(&spool);
    o.spool = spool.path;
    assert_int_equal(hangdog_start(&o), 0);
}

static void counts_what_a_cap_suppresses(void **state) {
    (void)state;
    start_with_caps(UINT32_MAX, 2);
    looper_start(&looper, "main", 0);
    uint64_t suppressed_ns = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t took = looper_call(&looper, block_sleep, T + T / 2);
        suppressed_ns += i >= 2 ? took : 0;
    }
    looper_call(&looper, block_spin, T + T / 2);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    json_t *hangs = spool_wait(&spool, NULL, 3); /* two of one kind, one of another */
    assert_int_equal(report_ns(json_object_get(json_array_get(hangs, 2), "monitor"), "suppressed"), 2);
    json_decref(hangs);
    json_t *session = spool_wait(&spool, "session", 1);
    const json_t *session_of = json_object_get(json_array_get(session, 0), "session");
    const json_t *suppressed = json_array_get(json_object_get(session_of, "suppressed"), 0);
    assert_int_equal(report_ns(session_of, "hangs"), 5);
    assert_int_equal(report_ns(suppressed, "count"), 2);
    assert_near(report_ns(suppressed, "total_ns"), suppressed_ns);
    json_decref(session);
}

static void what_the_spool_has_no_room_for_is_counted(void **state) {
    (void)state;
    hangdog_options o = library_options(&spool);
    o.spool_reports = 2;
    assert_int_equal(hangdog_stop(), 0);
    spool_remove(&spool);
    spool_make(&spool);
    o.spool = spool.path;
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    for (unsigned i = 0; i < 4; i++) {
        looper_call(&looper, i % 2 == 0 ? block_sleep : block_sleep_other, T + T / 2);
    }
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    json_t *session = spool_wait(&spool, "session", 1), *hangs = spool_wait(&spool, NULL, 1);
    const json_t *session_of = json_object_get(json_array_get(session, 0), "session");
    assert_int_equal(report_ns(session_of, "hangs"), 4);
    assert_int_equal(report_ns(session_of, "reports_dropped"), 3); /* one of them for the session's own */
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep_other));
    json_decref(hangs);
    json_decref(session);
}

static bool is_watched(void *watch) {
    return atomic_load(&((struct hd_watch *)watch)->use) == HD_WATCH_ON;
}

/* Scenario 37, with a smaller number. */
static void the_days_cap_outlives_a_restart(void **state) {
    (void)state;
    start_with_caps(2, UINT32_MAX);
    for (unsigned run = 0; run < 6; run++) {
        looper_start(&looper, "main", 0);
        assert_true(wait_for(is_watched, looper.loop));
        if (run >= 3) { /* those before have session reports, which do not count */
            looper_call(&looper, block_sleep, T + T / 2);
        }
        looper_stop(&looper);
        assert_int_equal(hangdog_stop(), 0);
        json_decref(spool_wait(&spool, "session", run + 1)); /* the last that is written */
        json_t *hangs = spool_reports(&spool, NULL, false);
        assert_int_equal(json_array_size(hangs), run < 3 ? 0 : run < 5 ? run - 2 : 2);
        json_decref(hangs);
        hangdog_options o = library_options(&spool);
        o.reports_per_day = 2;
        assert_int_equal(hangdog_start(&o), 0);
    }
}

/* Two functions in turn, so that no equal stacks let it take fewer. */
static void spin_here_and_there(uint64_t ms) {
    for (uint64_t i = 0; i < ms / 40; i++) {
        block_spin(20);
        spin_ms(20);
    }
}

static bool is_degraded(const json_t *report) {
    return json_is_true(json_object_get(json_object_get(report, "monitor"), "degraded"));
}

static void spend_the_budget(void) {
    struct hd_budget *b = &hd_instance_of(hd_run_current())->monitor.budget;
    b->cpu.left_ns = -(int64_t)(200 * MS); /* it takes 400 s to have enough again */
    b->over = true;
}

static void over_its_budget_it_samples_less_and_says_so(void **state) {
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the monitor's own are written here */
#endif
    looper_start(&looper, "main", 0);
    looper_call(&looper, spin_here_and_there, 400);
    json_decref(spool_wait(&spool, "hang", 1));
    nap_ms(200); /* it is parked */
    spend_the_budget();
    uint64_t took = looper_call(&looper, spin_here_and_there, 2000);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    json_t *hangs = spool_wait(&spool, "hang", 2);
    const json_t *first = json_array_get(hangs, 0), *second = json_array_get(hangs, 1);
    assert_near(report_ns(second, "duration_ns"), took);
    assert_true(report_blames(second, spin_here_and_there));
    assert_false(is_degraded(first));
    assert_true(is_degraded(second));
    uint64_t samples = report_ns(json_object_get(second, "monitor"), "samples");
    assert_true(samples >= (SLOW ? 1 : 20) && samples <= took / (4 * INTERVAL_MS * MS) + 4);
    json_decref(hangs);
    json_t *session = spool_wait(&spool, "session", 1);
    assert_true(is_degraded(json_array_get(session, 0)));
    json_decref(session);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_library, end_library)
    const struct CMUnitTest side_by_side[] = {
        CASE(three_blocks_over_the_threshold_are_three_hangs),
        CASE(three_short_blocks_are_none),
        CASE(just_below_is_none_and_just_over_is_one),
        CASE(normal_turns_after_a_hang_are_no_hangs),
        CASE(a_block_before_the_first_wait_is_a_slow_launch),
        CASE(a_launch_that_was_known_too_late_is_none),
        CASE(a_state_that_changes_as_a_hang_ends_does_not_undo_it),
        CASE(a_report_that_is_gone_is_not_repeated),
        CASE(a_named_pipe_is_no_file),
        CASE(the_days_cap_outlives_a_restart),
    };
    const struct CMUnitTest one_by_one[] = {
        CASE(a_hang_has_its_true_start_and_duration),
        CASE(a_loop_that_turns_without_sleeping_does_not_hang),
        CASE(the_function_with_most_of_the_time_is_blamed_not_the_last),
        CASE(the_same_hang_again_is_reported_in_brief),
        CASE(a_report_that_has_not_all_of_a_hang_is_not_repeated),
        CASE(writes_how_the_hot_stack_was_taken),
        CASE(counts_what_a_cap_suppresses),
        CASE(what_the_spool_has_no_room_for_is_counted),
        CASE(over_its_budget_it_samples_less_and_says_so),
    };
    int failed = run_side_by_side(side_by_side, sizeof side_by_side / sizeof side_by_side[0]);
    return failed + cmocka_run_group_tests(one_by_one, NULL, NULL);
}
