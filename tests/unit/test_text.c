/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

static char buffer[64];
static struct hd_text text;

static struct hd_text *fresh(void) {
    hd_text_init(&text, buffer, sizeof buffer);
    return &text;
}

static void numbers_are_written_whole(void **state) {
    (void)state;
    hd_text_u64(fresh(), 0);
    assert_string_equal(buffer, "0");
    hd_text_u64(fresh(), UINT64_MAX);
    assert_string_equal(buffer, "18446744073709551615");
    hd_text_i64(fresh(), INT64_MIN);
    assert_string_equal(buffer, "-9223372036854775808");
    hd_text_hex(fresh(), UINT64_MAX);
    assert_string_equal(buffer, "0xffffffffffffffff");
    hd_text_hex(fresh(), 0);
    assert_string_equal(buffer, "0x0");
    hd_text_padded(fresh(), 7, 3);
    assert_string_equal(buffer, "007");
}

static void decimals_are_rounded(void **state) {
    (void)state;
    static const struct {
        double value;
        unsigned decimals;
        const char *expected;
    } cases[] = {{0, 4, "0.0000"},   {1, 4, "1.0000"},    {0.99996, 4, "1.0000"},
                 {12.34, 1, "12.3"}, {99.95, 1, "100.0"}, {-1.5, 0, "-2"},
                 {-0.01, 1, "0.0"},  {1e300, 2, "0.00"},  {1.0 / 3, 9, "0.333333333"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hd_text_fixed(fresh(), cases[i].value, cases[i].decimals);
        assert_string_equal(buffer, cases[i].expected);
    }
    hd_text_fixed(fresh(), NAN, 1);
    assert_string_equal(buffer, "0.0");
    hd_text_fixed(fresh(), -INFINITY, 1);
    assert_string_equal(buffer, "0.0");
}

/* The C library's calendar is the oracle: the first and last second of each day for 600 years, and beyond. */
static void dates_agree_with_the_c_library(void **state) {
    (void)state;
    for (int64_t day = 0; day < 365 * 600; day++) {
        time_t when = (time_t)(day * 86400 + (day % 2 == 0 ? 0 : 86399));
        char expected[64];
        struct tm tm;
        gmtime_r(&when, &tm);
        size_t n = strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S", &tm);
        if ((uint64_t)when > UINT64_MAX / HD_NS_PER_S) {
            break;
        }
        uint64_t ns = (uint64_t)(day % 999999937);
        snprintf(expected + n, sizeof expected - n, ".%09uZ", (unsigned)ns);
        hd_text_time(fresh(), (uint64_t)when * HD_NS_PER_S + ns);
        assert_string_equal(buffer, expected);
    }
    hd_text_time(fresh(), UINT64_MAX);
    assert_string_equal(buffer, "2554-07-21T23:34:33.709551615Z");
}

static void what_does_not_fit_is_cut(void **state) {
    (void)state;
    char tiny[8];
    struct hd_text t;
    memset(tiny, 'x', sizeof tiny);
    hd_text_init(&t, tiny, 6);
    hd_text_str(&t, "abc");
    hd_text_u64(&t, 123456);
    hd_text_str(&t, "more");
    assert_string_equal(tiny, "abc12");
    assert_int_equal(tiny[6], 'x');
}

static void a_name_is_cut_at_the_end_of_a_character_and_says_so(void **state) {
    static const struct {
        const char *path, *name;
    } cases[] = {
        {"/a/1234567", "1234567"}, {"/a/12345678", "1234..."}, {"/a/123ä567", "123..."},
        {"/a/12ä5678", "12ä..."},  {"/a/1€5678901", "1€..."},  {"/a/12€678901", "12..."},
        {"/a/folder/", "folder/"}, {"plain", "plain"},         {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[8];
        hd_text_base_name(name, sizeof name, cases[i].path);
        assert_string_equal(name, cases[i].name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_whole),
        cmocka_unit_test(decimals_are_rounded),
        cmocka_unit_test(dates_agree_with_the_c_library),
        cmocka_unit_test(what_does_not_fit_is_cut),
        cmocka_unit_test(a_name_is_cut_at_the_end_of_a_character_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
