/* SPDX-License-Identifier: MIT
 *
 * The time in the background: set twice, left, and read for a time before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "watch/background.h"

static void time_in_the_background_adds_up(void **state) {
    struct hd_background b = {0};
    (void)state;
    hd_background_set(&b, false, 100);
    assert_int_equal(hd_background_until(&b, 200), 0);
    hd_background_set(&b, true, 200);
    hd_background_set(&b, true, 250);
    assert_int_equal(hd_background_until(&b, 300), 100);
    hd_background_set(&b, false, 320);
    assert_int_equal(hd_background_until(&b, 900), 120);
    hd_background_set(&b, true, 1000);
    assert_int_equal(hd_background_until(&b, 990), 120);
    assert_int_equal(hd_background_until(&b, 1010), 130);
}

/* Two threads may read the clock in one order and come here in the other. */
static void an_earlier_clock_takes_nothing_off(void **state) {
    struct hd_background b = {0};
    (void)state;
    hd_background_set(&b, true, 200);
    hd_background_set(&b, false, 150);
    assert_int_equal(hd_background_until(&b, 900), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_in_the_background_adds_up),
        cmocka_unit_test(an_earlier_clock_takes_nothing_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
