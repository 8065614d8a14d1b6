/* SPDX-License-Identifier: MIT
 *
 * Which clock removes old reports: one that jumps is believed after a day, in either direction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include "collector/upkeep/retention.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (365 * DAY)
#define NOW (20000 * DAY)

static void a_clock_that_goes_on_is_believed(void **state) {
    (void)state;
    struct clock_trust c = {.seen_ms = NOW};
    int64_t now = NOW;
    assert_int_equal(retention_check_clock(&c, NOW + DAY, 0),
                     CLOCK_TRUSTED); /* the first look of a process */
    assert_int_equal(c.seen_ms, NOW + DAY);
    c.seen_ms = now;
    for (int i = 0; i < 100; i++) {
        now += MINUTE;
        assert_int_equal(retention_check_clock(&c, now, MINUTE), CLOCK_TRUSTED);
    }
    /* A machine that slept for a week: CLOCK_BOOTTIME knows it. */
    assert_int_equal(retention_check_clock(&c, now + 7 * DAY, 7 * DAY), CLOCK_TRUSTED);
}

static void jump(int64_t by) {
    struct clock_trust c = {.seen_ms = NOW};
    int64_t looks = DAY / MINUTE;
    assert_int_equal(retention_check_clock(&c, NOW + by, MINUTE), CLOCK_JUMPED);
    for (int64_t i = 1; i < looks; i++) {
        assert_int_equal(retention_check_clock(&c, NOW + by + i * MINUTE, MINUTE), CLOCK_WAITS);
    }
    assert_int_equal(retention_check_clock(&c, NOW + by + looks * MINUTE, MINUTE), CLOCK_TRUSTED);
    assert_int_equal(c.seen_ms, NOW + by + looks * MINUTE);
    assert_int_equal(retention_check_clock(&c, c.seen_ms + MINUTE, MINUTE), CLOCK_TRUSTED);
}

static void a_jump_is_believed_after_a_day(void **state) {
    (void)state;
    jump(YEAR);
    jump(-YEAR);
}

static void the_right_clock_is_believed_at_once_again(void **state) {
    (void)state;
    struct clock_trust c = {.seen_ms = NOW};
    assert_int_equal(retention_check_clock(&c, NOW + YEAR, MINUTE), CLOCK_JUMPED);
    assert_int_equal(retention_check_clock(&c, NOW + YEAR + HOUR, HOUR), CLOCK_WAITS);
    assert_int_equal(retention_check_clock(&c, NOW + HOUR + 2 * MINUTE, MINUTE), CLOCK_TRUSTED);
    /* The next jump waits for a whole day. */
    assert_int_equal(retention_check_clock(&c, NOW + YEAR, MINUTE), CLOCK_JUMPED);
    assert_int_equal(c.waited_ms, 1);
}

static void a_clock_that_jumps_about_is_never_believed(void **state) {
    (void)state;
    struct clock_trust c = {.seen_ms = NOW};
    for (int i = 1; i < 100; i++) {
        assert_int_equal(retention_check_clock(&c, NOW + YEAR + i * 3 * DAY, HOUR), CLOCK_JUMPED);
    }
}

/* The numbers are in the store between two processes; time in which none runs does not count. */
static void a_machine_that_is_off_at_night_comes_to_its_day(void **state) {
    (void)state;
    struct clock_trust c = {.seen_ms = NOW};
    enum clock_verdict verdict = CLOCK_JUMPED;
    int days = 0;
    for (int64_t now = NOW + 3 * DAY; verdict != CLOCK_TRUSTED && days < 10; now += 16 * HOUR, days++) {
        retention_check_clock(&c, now, 0);
        for (int i = 0; i < 8; i++) {
            now += HOUR;
            verdict = retention_check_clock(&c, now, HOUR);
        }
    }
    assert_int_equal(verdict, CLOCK_TRUSTED);
    assert_in_range(days, 3, 5);
}

static void a_store_without_a_time_waits(void **state) {
    (void)state;
    struct clock_trust c = {0};
    assert_int_equal(retention_check_clock(&c, NOW, 0), CLOCK_JUMPED);
    assert_int_equal(retention_check_clock(&c, NOW + HOUR, HOUR), CLOCK_WAITS);
    assert_int_equal(retention_check_clock(&c, NOW + DAY + HOUR, DAY), CLOCK_TRUSTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_goes_on_is_believed),
        cmocka_unit_test(a_jump_is_believed_after_a_day),
        cmocka_unit_test(the_right_clock_is_believed_at_once_again),
        cmocka_unit_test(a_clock_that_jumps_about_is_never_believed),
        cmocka_unit_test(a_machine_that_is_off_at_night_comes_to_its_day),
        cmocka_unit_test(a_store_without_a_time_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
