/* SPDX-License-Identifier: MIT
 *
 * What a loop costs that has nothing to do, by the monitor's wake-ups: none while it waits, two when it
 * ticks; and none of a launch that has been sampled for long enough.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "control/instance.h"
#include "control/settings.h"
#include "library.h"
#include "monitor_sleeps.h"

#define T THRESHOLD_MS
#define TRIES 5 /* a machine with too much to do makes a turn long, and is looked at more often */

static int begin(void **state) {
    begin_library(state);
    looper_start(&looper, "main", 0);
    return 0;
}

static int end(void **state) {
    looper_stop(&looper);
    return end_library(state);
}

static void a_waiting_loop_wakes_no_thread(void **state) {
    (void)state;
    long most = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        long before = monitor_sleeps();
        nap_ms(1000);
        most = monitor_sleeps() - before;
        if (most <= 1) {
            return;
        }
    }
    fail_msg("the monitor slept %ld times in 1 s beside a loop that waits", most);
}

static void nothing(uint64_t unused) {
    (void)unused;
}

static void a_tick_wakes_the_monitor_twice(void **state) {
    (void)state;
    const long ticks = 20;
    long most = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        long before = monitor_sleeps();
        for (long n = 0; n < ticks; n++) {
            looper_call(&looper, nothing, 0);
            nap_ms(100);
        }
        most = monitor_sleeps() - before;
        if (most <= 2 * ticks + ticks / 4) {
            return;
        }
    }
    fail_msg("the monitor slept %ld times in %ld ticks", most, ticks);
}

/* Beside another loop that is busy at first, so that the launch goes on to be looked at. */
static void samples_a_launch_for_a_limited_time(void **state) {
    (void)state;
    const uint64_t most_ns = 3 * T * MS;
    long most = 0;
    struct hd_settings settings;
    hd_settings_init(&settings);
    settings.interval_ns = INTERVAL_MS * MS;
    settings.sample_launch_ns = most_ns;
    settings.threshold_ns[HANGDOG_STATE_LAUNCH] = T * MS;
    memcpy(settings.spool, spool.path, sizeof spool.path);
    for (unsigned i = 0; i == 0 || (i < TRIES && most > 1); i++) {
        struct hd_run *m;
        looper_stop(&looper);
        assert_int_equal(hangdog_stop(), 0);
        assert_int_equal(hd_instance_start(&settings, &(struct hd_ports){0}, NULL, &m), 0);
        hangdog_loop *loop = hangdog_loop_watch("launching", 0);
        looper_start(&looper, "main", 0);
        looper_call(&looper, block_sleep, 6 * T);
        nap_ms(T); /* all that there was to do for it */
        long before = monitor_sleeps();
        block_sleep(5 * T);
        most = monitor_sleeps() - before;
        hangdog_before_wait(loop);
        hangdog_loop_unwatch(loop);
        json_t *launches = spool_wait(&spool, "launch", i + 1);
        const json_t *report = json_array_get(launches, i), *sample;
        const json_t *timeline = json_object_get(json_object_get(report, "samples"), "timeline");
        size_t n;
        assert_true(report_ns(report, "duration_ns") >= 10 * T * MS);
        assert_true(json_array_size(timeline) > 0);
        json_array_foreach(timeline, n, sample) {
            assert_in_range(report_ns(sample, "at_ns"), 0, most_ns + T * MS);
        }
        json_decref(launches);
    }
    assert_in_range(most, 0, 1);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_waiting_loop_wakes_no_thread),
        CASE(a_tick_wakes_the_monitor_twice),
        CASE(samples_a_launch_for_a_limited_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
