/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "cli/base/moment.h"

#define NOW 1795640400 /* 2026-11-25 21:00:00 UTC */

static void moments_are_local(void **state) {
    static const struct {
        const char *text, *utc;
    } cases[] = {
        {"2h", "2026-11-25T19:00:00"},
        {"90s", "2026-11-25T20:58:30"},
        {"1d", "2026-11-24T21:00:00"},
        {"today", "2026-11-24T23:00:00"},
        {"yesterday", "2026-11-23T23:00:00"},
        {"2026-11-20", "2026-11-19T23:00:00"},
        {"2026-07-01", "2026-06-30T22:00:00"}, /* summer time */
        {"2026-11-20 22:50", "2026-11-20T21:50:00"},
        {"2026-11-20T22:50:30", "2026-11-20T21:50:30"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[MOMENT_BYTES];
        time_t moment = 0;
        assert_true(moment_parse(cases[i].text, NOW, &moment));
        assert_string_equal(moment_write(text, moment), cases[i].utc);
    }
}

static void other_words_are_no_moments(void **state) {
    static const char *const words[] = {"",           "2026",        "20",  "now", "tomorrow",
                                        "2026-13-01", "2026-11-20x", "-2h", "2x"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        time_t moment;
        assert_false(moment_parse(words[i], NOW, &moment));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_local),
        cmocka_unit_test(other_words_are_no_moments),
    };
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
