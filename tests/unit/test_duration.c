/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/base/duration.h"

static void durations_take_units(void **state) {
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"500", 500 * DURATION_MS},
        {"20ms", 20 * DURATION_MS},
        {"2s", 2 * DURATION_S},
        {"2 s", 2 * DURATION_S},
        {"1.5s", 1500 * DURATION_MS},
        {"0.5h", 30 * DURATION_MIN},
        {"3min", 3 * DURATION_MIN},
        {"3m", 3 * DURATION_MIN},
        {"2d", 48 * DURATION_H},
        {"250us", DURATION_MS / 4},
        {"0", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(duration_parse(cases[i].text), cases[i].ns);
    }
}

static void other_words_are_no_durations(void **state) {
    static const char *const words[] = {"",   "s",   "2x",   "-2s",  "2s3", "inf", "nan",
                                        " 2", "0x2", "1e9d", "2  s", "+2s", "2S"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_int_equal(duration_parse(words[i]), -1);
    }
}

static void limits_are_written_with_one_unit(void **state) {
    char text[DURATION_BYTES];
    (void)state;
    assert_string_equal(duration_write(text, 10 * DURATION_MS), "10ms");
    assert_string_equal(duration_write(text, DURATION_H), "1h");
    assert_string_equal(duration_write(text, 90 * DURATION_S), "90s");
    assert_string_equal(duration_write(text, 3 * DURATION_MIN), "3min");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_take_units),
        cmocka_unit_test(other_words_are_no_durations),
        cmocka_unit_test(limits_are_written_with_one_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
