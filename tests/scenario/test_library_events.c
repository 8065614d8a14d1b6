/* SPDX-License-Identifier: MIT
 *
 * hangdog_next_event(): a thread that waits for a hang's start, growth and end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "library.h"

#define T THRESHOLD_MS
#define PATIENCE (60 * SECOND)

static hangdog_event event;

/* The next event is of that type. */
static void expect(int type) {
    assert_int_equal(hangdog_next_event(&event, PATIENCE), 0);
    assert_int_equal(event.type, type);
    assert_string_equal(event.loop, "main");
}

static int begin(void **state) {
    event = (hangdog_event){.size = sizeof event};
    return begin_library(state);
}

/* Another stack each time: of one that is proven to be the same there is news each 5 s. */
static void sleep_here_and_there(uint64_t ms) {
    for (uint64_t i = 0; i < ms / 100; i++) {
        block_sleep(50);
        block_sleep_other(50);
    }
}

static void a_hang_starts_grows_and_ends(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    assert_int_equal(hangdog_next_event(&event, 0), -EAGAIN);
    uint64_t called = now_ns();
    looper_post(&looper, sleep_here_and_there, 8 * T);
    expect(HANGDOG_EVENT_START);
    assert_true(SLOW || now_ns() - called < 4 * T * MS); /* long before its end */
    assert_int_equal(event.number, 1);
    assert_int_equal(event.threshold_ns, T * MS);
    assert_true(event.start_ns >= called && event.start_ns < now_ns());
    assert_true(event.tid > 0);
    hangdog_event start = event;
    do {
        assert_int_equal(hangdog_next_event(&event, PATIENCE), 0);
        assert_true(event.duration_ns >= start.duration_ns && event.start_ns == start.start_ns);
        assert_string_equal(event.report, start.report);
    } while (event.type == HANGDOG_EVENT_UPDATE);
    assert_int_equal(event.type, HANGDOG_EVENT_END);
    assert_true(event.number >= 3); /* it has grown at least once */
    looper_wait(&looper);
    assert_near(event.duration_ns, looper.took_ns);
    json_t *hangs = spool_reports(&spool, "hang", true); /* it is there by now */
    assert_string_equal(report_text(json_array_get(hangs, 0), "id"), event.report);
    assert_int_equal(report_ns(json_array_get(hangs, 0), "duration_ns"), event.duration_ns);
    json_decref(hangs);
    assert_int_equal(hangdog_next_event(&event, 20 * MS), -EAGAIN);
    looper_stop(&looper);
}

static void *read_all(void *count) {
    hangdog_event e = {.size = sizeof e};
    int rc;
    while ((rc = hangdog_next_event(&e, UINT64_MAX)) == 0) {
        *(unsigned *)count += e.type == HANGDOG_EVENT_END;
    }
    return (void *)(intptr_t)rc;
}

static void each_of_two_readers_sees_all_until_the_stop(void **state) {
    pthread_t thread[2];
    unsigned ends[2] = {0};
    void *rc;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, read_all, &ends[i]), 0);
    }
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 2 * T);
    looper_call(&looper, block_sleep, 2 * T);
    json_decref(spool_wait(&spool, "hang", 2));
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(thread[i], &rc), 0);
        assert_int_equal((intptr_t)rc, -ESRCH);
        assert_int_equal(ends[i], 2);
    }
}

static void a_hang_over_its_cap_says_so(void **state) {
    (void)state;
    assert_int_equal(hangdog_stop(), 0);
    hangdog_options o = library_options(&spool);
    o.reports_per_fingerprint = 1;
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    for (int i = 0; i < 2; i++) {
        looper_call(&looper, block_sleep, 2 * T);
        do {
            assert_int_equal(hangdog_next_event(&event, PATIENCE), 0);
        } while (event.type != HANGDOG_EVENT_END);
        assert_int_equal(event.suppressed, i);
    }
    looper_stop(&looper);
}

static void a_slow_reader_misses_the_oldest(void **state) {
    (void)state;
    looper_start(&looper, "main", 20 * MS);
    for (unsigned i = 0; i < 20; i++) { /* two events each, or more */
        looper_call(&looper, block_sleep, 60);
    }
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    unsigned read = 0;
    uint64_t last = 0;
    while (hangdog_next_event(&event, SECOND) == 0) {
        assert_true(read == 0 ? event.number > 1 : event.number == last + 1);
        last = event.number;
        read++;
    }
    assert_int_equal(read, 32);
    assert_int_equal(event.type, HANGDOG_EVENT_END);
}

static void mistakes_are_errors(void **state) {
    (void)state;
    assert_int_equal(hangdog_next_event(NULL, 0), -EINVAL);
    event.size = 0;
    assert_int_equal(hangdog_next_event(&event, 0), -EINVAL);
    event.size = sizeof event;
    assert_int_equal(hangdog_stop(), 0);
    assert_int_equal(hangdog_next_event(&event, UINT64_MAX), -ESRCH);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end_library)
    const struct CMUnitTest tests[] = {
        CASE(a_hang_starts_grows_and_ends), CASE(each_of_two_readers_sees_all_until_the_stop),
        CASE(a_hang_over_its_cap_says_so),  CASE(a_slow_reader_misses_the_oldest),
        CASE(mistakes_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
