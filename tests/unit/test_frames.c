/* SPDX-License-Identifier: MIT
 *
 * The frames that a loop presents: their times, those that are late, and what is no time of a frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/frame_times.h"
#include "loop/loop.h"

#define MS HD_NS_PER_MS
#define PERIOD (HD_NS_PER_S / 60)

static struct hd_loop loop;
static struct hd_frames *const f = &loop.frames;

/* A tick is a nanosecond. */
static int begin(void **state) {
    (void)state;
    hd_loop_init(&loop, NULL, hd_thread_id_of(1), false, 1ULL << 32, 1000, true);
    f->period_ns = PERIOD;
    return 0;
}

/* The loop was busy for so long, and presents a frame. */
static void present(uint64_t busy_ns) {
    loop.busy_ticks += busy_ns;
    hd_frames_add(&loop, 0);
}

static void the_first_frame_has_no_time(void **state) {
    (void)state;
    present(5000 * MS);
    assert_int_equal(f->presented, 1);
    assert_int_equal(f->time_ns, 0);
    assert_int_equal(f->dropped, 0);
    present(16 * MS);
    assert_int_equal(f->presented, 2);
    assert_int_equal(f->time_ns, 16 * MS);
}

static void a_frame_is_late_by_half_a_refresh_or_more(void **state) {
    (void)state;
    present(1);
    present(PERIOD + PERIOD / 2 - 1);
    assert_int_equal(f->dropped, 0);
    assert_int_equal(f->hitch_ns, 0);
    present(PERIOD + PERIOD / 2);
    assert_int_equal(f->dropped, 1);
    assert_int_equal(f->hitch_ns, PERIOD / 2);
    present(6 * PERIOD);
    assert_int_equal(f->dropped, 6);
    assert_int_equal(f->hitch_ns, PERIOD / 2 + 5 * PERIOD);
}

static void the_rate_of_the_display_is_an_option(void **state) {
    (void)state;
    f->period_ns = HD_NS_PER_S / 30;
    present(1);
    present(33 * MS);
    assert_int_equal(f->dropped, 0);
    f->period_ns = HD_NS_PER_S / 240;
    present(33 * MS);
    assert_int_equal(f->dropped, 7);
}

/* Two windows in one turn are one frame; the wait for the display is a part of it. */
static void a_turn_has_one_frame(void **state) {
    (void)state;
    present(1);
    present(3 * MS);
    hd_frames_add(&loop, 0);
    assert_int_equal(f->presented, 2);
    loop.busy_ticks += 3 * MS;
    hd_frames_add(&loop, 13 * MS);
    assert_int_equal(f->presented, 3);
    assert_int_equal(f->time_ns, 19 * MS);
}

static void each_time_has_its_bucket(void **state) {
    (void)state;
    assert_int_equal(hd_frame_bucket(0), 0);
    assert_int_equal(hd_frame_bucket(UINT64_MAX), HD_FRAME_BUCKETS - 1);
    for (unsigned i = 0; i < HD_FRAME_BUCKETS - 1; i++) {
        uint64_t bound_ns = hd_frame_bound_us[i] * HD_NS_PER_US;
        assert_int_equal(hd_frame_bucket(bound_ns - 1), i);
        assert_int_equal(hd_frame_bucket(bound_ns), i + 1);
    }
    present(1);
    present(PERIOD);
    present(PERIOD);
    present(2000 * MS);
    assert_int_equal(f->histogram[hd_frame_bucket(PERIOD)], 2);
    assert_int_equal(f->histogram[HD_FRAME_BUCKETS - 1], 1);
}

/* By the marks themselves: the time of a wait is no frame's. */
static void a_wait_for_events_is_no_time_of_a_frame(void **state) {
    (void)state;
    hd_loop_turn(&loop);
    hd_frames_add(&loop, 0);
    hd_loop_mark_at(&loop, HANGDOG_BEFORE_WAITING, hd_loop_ticks(&loop));
    hd_os_nap(30 * MS);
    hd_loop_mark_at(&loop, HANGDOG_AFTER_WAITING, hd_loop_ticks(&loop));
    hd_os_nap(MS);
    hd_loop_turn(&loop);
    hd_frames_add(&loop, 0);
    assert_int_equal(f->presented, 2);
    assert_true(f->time_ns >= MS && f->time_ns < 30 * MS);
}

#define FRESH(test) cmocka_unit_test_setup(test, begin)

int main(void) {
    const struct CMUnitTest tests[] = {
        FRESH(the_first_frame_has_no_time),
        FRESH(a_frame_is_late_by_half_a_refresh_or_more),
        FRESH(the_rate_of_the_display_is_an_option),
        FRESH(a_turn_has_one_frame),
        FRESH(each_time_has_its_bucket),
        FRESH(a_wait_for_events_is_no_time_of_a_frame),
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
