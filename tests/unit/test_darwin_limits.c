/* SPDX-License-Identifier: MIT
 *
 * Thresholds on a system that ends a program whose launch hangs.
 *
 * sources: src/monitor/limits.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "monitor/limits.h"

#define DAY_NS (24 * 3600 * HD_NS_PER_S)

static struct hd_run run;
static struct hd_monitor monitor = {.run = &run};
static struct hd_watch watch;
static struct hd_look_state look = {.watch = &watch};

uint64_t hd_limits_system_ns(hangdog_state state) {
    return state == HANGDOG_STATE_LAUNCH ? 16 * HD_NS_PER_S : UINT64_MAX;
}

static uint64_t threshold(hangdog_state state, uint64_t set_ns) {
    run.settings.threshold_max_ns = UINT64_MAX / 2;
    run.settings.threshold_ns[state] = set_ns;
    return hd_limits_of(&monitor, &look, state).threshold_ns;
}

static void a_report_comes_before_the_system_ends_the_program(void **state) {
    (void)state;
    assert_int_equal(threshold(HANGDOG_STATE_LAUNCH, HD_NS_PER_S), HD_NS_PER_S);
    assert_int_equal(threshold(HANGDOG_STATE_LAUNCH, 20 * HD_NS_PER_S), 16 * HD_NS_PER_S);
    assert_int_equal(threshold(HANGDOG_STATE_BACKGROUND, 20 * HD_NS_PER_S), 20 * HD_NS_PER_S);
}

/* hangdog_app_follow sets such a threshold for a launch that no user waits for. */
static void a_state_without_reports_stays_without(void **state) {
    (void)state;
    assert_int_equal(threshold(HANGDOG_STATE_LAUNCH, 365 * DAY_NS), 365 * DAY_NS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_comes_before_the_system_ends_the_program),
        cmocka_unit_test(a_state_without_reports_stays_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
