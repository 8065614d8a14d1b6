/* SPDX-License-Identifier: MIT
 *
 * Jobs without a verdict: they wait, are tried three times, and leave room for each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "collector/symbols/retries.h"

static void a_job_is_tried_three_times(void **state) {
    (void)state;
    struct retries r = {.count = 0};
    assert_false(retries_waits(&r, "aa", "", 0));
    assert_int_equal(retries_next_ms(&r, 77), 77);
    assert_true(retries_add(&r, "aa", "", 1000));
    int64_t first = retries_next_ms(&r, INT64_MAX);
    assert_true(first > 1000 && first < 10000);
    assert_true(retries_waits(&r, "aa", "", first - 1));
    assert_false(retries_waits(&r, "aa", "", first));
    assert_false(retries_waits(&r, "aa", "report", 0)); /* another job */
    assert_false(retries_waits(&r, "bb", "", 0));
    assert_true(retries_add(&r, "aa", "", first));
    assert_true(retries_next_ms(&r, INT64_MAX) > first + 10000);
    assert_false(retries_add(&r, "aa", "", 100000)); /* and is given up */
    assert_true(retries_waits(&r, "aa", "", INT64_MAX - 1));
    assert_int_equal(retries_next_ms(&r, 77), 77);
    retries_end(&r, "aa", "");
    assert_false(retries_waits(&r, "aa", "", 0));
    assert_int_equal(r.count, 0);
}

static void too_many_jobs_are_not_tried_again(void **state) {
    (void)state;
    struct retries r = {.count = 0};
    char report[ROW_ID_CHARS + 1];
    for (int i = 0; i < RETRIES_MAX; i++) {
        snprintf(report, sizeof report, "%d", i);
        assert_true(retries_add(&r, "aa", report, 0));
    }
    assert_false(retries_add(&r, "aa", "more", 0));
    assert_true(retries_add(&r, "aa", "0", 0)); /* known ones are */
    retries_end(&r, "aa", "more");              /* there is none */
    retries_end(&r, "aa", "3");
    assert_true(retries_add(&r, "aa", "more", 0));
    for (int i = 0; i < RETRIES_MAX; i++) {
        snprintf(report, sizeof report, "%d", i);
        assert_int_equal(retries_waits(&r, "aa", report, 1), i != 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_tried_three_times),
        cmocka_unit_test(too_many_jobs_are_not_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
