/* SPDX-License-Identifier: MIT
 *
 * The caps of reports, without a clock or a spool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "publish/caps.h"

#define BURST 3u
#define REFILL_NS (600 * HD_NS_PER_S)

static struct hd_caps caps;

static int fresh(void **state) {
    (void)state;
    memset(&caps, 0, sizeof caps);
    return 0;
}

static unsigned allowed(uint64_t fingerprint, unsigned count, uint64_t now_ns) {
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) {
        n += hd_caps_allow_fingerprint(&caps, fingerprint, BURST, now_ns);
    }
    return n;
}

static void a_fingerprint_gets_one_report_more_each_ten_minutes(void **state) {
    (void)state;
    uint64_t now_ns = 7 * HD_NS_PER_S;
    assert_int_equal(allowed(1, BURST + 2, now_ns), BURST);
    assert_int_equal(allowed(1, 1, now_ns + REFILL_NS - 1), 0);
    assert_int_equal(allowed(1, 2, now_ns + REFILL_NS), 1);
    assert_int_equal(allowed(1, 9, now_ns + 99 * REFILL_NS), BURST);
}

static void another_fingerprint_has_its_own_reports(void **state) {
    (void)state;
    assert_int_equal(allowed(1, BURST + 1, 1), BURST);
    assert_int_equal(allowed(2, BURST + 1, 1), BURST);
    assert_int_equal(allowed(0, 50, 1), 50); /* hangs without a stack */
}

static void the_oldest_bucket_goes_to_a_new_fingerprint(void **state) {
    (void)state;
    for (uint64_t i = 1; i <= HD_BUCKETS_MAX + 1; i++) {
        assert_int_equal(allowed(i, BURST, i), BURST);
    }
    assert_int_equal(allowed(2, 1, HD_BUCKETS_MAX + 2), 0);
    assert_int_equal(allowed(1, 1, HD_BUCKETS_MAX + 2), 1); /* its bucket was given away */
}

static void the_reports_of_a_day_are_counted_each_minute(void **state) {
    (void)state;
    assert_true(hd_caps_must_count_day(&caps, 1));
    hd_caps_set_day(&caps, 1, 1);
    assert_false(hd_caps_must_count_day(&caps, 1 + 60 * HD_NS_PER_S));
    assert_true(hd_caps_must_count_day(&caps, 2 + 60 * HD_NS_PER_S));
    assert_true(hd_caps_allow_day(&caps, 2));
    assert_false(hd_caps_allow_day(&caps, 2));
    hd_caps_give_back(&caps);
    assert_true(hd_caps_allow_day(&caps, 2));
    assert_true(hd_caps_allow_day(&caps, UINT32_MAX));
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup(f, fresh)
    const struct CMUnitTest tests[] = {
        TEST(a_fingerprint_gets_one_report_more_each_ten_minutes),
        TEST(another_fingerprint_has_its_own_reports),
        TEST(the_oldest_bucket_goes_to_a_new_fingerprint),
        TEST(the_reports_of_a_day_are_counted_each_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
