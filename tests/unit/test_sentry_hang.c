/* SPDX-License-Identifier: MIT
 *
 * Which of the exceptions that Sentry's clients send stand for hangs, and how long these took.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "collector/sentry/sentry_hang.h"

#define MS INT64_C(1000000)

/* Quotes are single ones. */
static struct sentry_hang hang_of(const char *text) {
    char copy[1024];
    assert_true(strlen(text) < sizeof copy);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *p = copy; *p != '\0'; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    json_t *exception = json_loads(copy, JSON_DECODE_ANY, NULL);
    if (exception == NULL) {
        fail_msg("no JSON: %s", text);
    }
    struct sentry_hang hang = sentry_hang_of(exception);
    json_decref(exception);
    return hang;
}

/* The texts are those of the clients' sources. */
static void hangs_of_each_client(void **state) {
    (void)state;
    static const struct {
        const char *client, *exception;
        bool is_fatal;
        int64_t ms;
    } cases[] = {
        {"node",
         "{'type':'ApplicationNotResponding','value':'Application Not Responding for at least 600 ms',"
         "'mechanism':{'type':'ANR'}}",
         false, 600},
        {"node, native", "{'type':'EventLoopBlocked','value':'Event Loop Blocked for at least 1000 ms'}",
         false, 1000},
        {"java",
         "{'type':'ApplicationNotResponding','value':'Application Not Responding for at least 5000 ms.'}",
         false, 5000},
        {"android 11", "{'type':'ANR','value':'ANR','mechanism':{'type':'AppExitInfo','handled':false}}",
         false, 0},
        {"cocoa",
         "{'type':'App Hanging','value':'App hanging between 2.0 and 2.1 seconds.','mechanism':{'type':'AppHang'}}",
         false, 2000},
        {"cocoa, older", "{'type':'App Hanging','value':'App hanging for at least 2000 ms.'}", false, 2000},
        {"cocoa, fatal",
         "{'type':'Fatal App Hang Fully Blocked','value':'The user or the OS watchdog terminated your app while it"
         " blocked the main thread for at least 2.5 seconds','mechanism':{'type':'AppHang'}}",
         true, 2500},
        {"by its mechanism alone", "{'type':'Hang','mechanism':{'type':'apphang'}}", false, 0},
        {"with a number", "{'type':'ANR','value':'for 7 ms','mechanism':{'data':{'duration_ms':2510.5}}}",
         false, 2510},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sentry_hang hang = hang_of(cases[i].exception);
        if (!hang.is_hang || hang.is_fatal != cases[i].is_fatal || hang.duration_ns / MS != cases[i].ms) {
            fail_msg("%s: hang %d, fatal %d, %lld ms", cases[i].client, hang.is_hang, hang.is_fatal,
                     (long long)(hang.duration_ns / MS));
        }
    }
}

static void errors_are_no_hangs(void **state) {
    (void)state;
    static const char *const cases[] = {
        "{'type':'TypeError','value':'for at least 600 ms','mechanism':{'type':'generic'}}",
        "{'type':'Happy App Hang'}",
        "{'type':'OSError','mechanism':{'type':'ANR2'}}",
        "{'type':'SIGABRT','mechanism':{'type':'signalhandler','data':{'duration_ms':7}}}",
        "{}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sentry_hang hang = hang_of(cases[i]);
        assert_false(hang.is_hang);
        assert_false(hang.is_fatal);
        assert_int_equal(hang.duration_ns, 0);
    }
}

static void times_that_are_none_are_not_known(void **state) {
    (void)state;
    static const char *const values[] = {
        "'no number'",  "'600'",  "'600 m'", "'6 minutes'", "'1e400 ms'", "'99999999999999999999999999 s'",
        "'10000000 s'", "'. ms'", "7",       "null",        "['600 ms']", "{'600':'ms'}"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "{'type':'ANR','value':%s}", values[i]);
        struct sentry_hang hang = hang_of(text);
        if (!hang.is_hang || hang.duration_ns != 0) {
            fail_msg("%s: %lld ns", values[i], (long long)hang.duration_ns);
        }
    }
    assert_int_equal(hang_of("{'type':'ANR','value':'step 3 of 4 took 12 milliseconds'}").duration_ns,
                     12 * MS);
    assert_int_equal(hang_of("{'type':'ANR','value':'9999999 s'}").duration_ns, INT64_C(9999999) * 1000 * MS);
}

static void a_number_out_of_range_is_not_known(void **state) {
    (void)state;
    static const char *const numbers[] = {"-1", "-1e300", "1e300", "1e10", "-0.5"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "{'type':'ANR','mechanism':{'data':{'duration_ms':%s}}}", numbers[i]);
        assert_int_equal(hang_of(text).duration_ns, 0);
    }
}

static void members_of_other_types(void **state) {
    (void)state;
    static const char *const odd[] = {"null", "7", "true", "[]", "[{'type':'ANR'}]", "'ANR'"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        char text[256];
        assert_false(hang_of(odd[i]).is_hang);
        snprintf(text, sizeof text, "{'type':'x','mechanism':%s}", odd[i]);
        assert_false(hang_of(text).is_hang);
        snprintf(text, sizeof text, "{'type':'ANR','mechanism':{'type':'ANR','data':%s}}", odd[i]);
        assert_true(hang_of(text).is_hang);
        assert_int_equal(hang_of(text).duration_ns, 0);
    }
    assert_false(sentry_hang_of(NULL).is_hang);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hangs_of_each_client),
        cmocka_unit_test(errors_are_no_hangs),
        cmocka_unit_test(times_that_are_none_are_not_known),
        cmocka_unit_test(a_number_out_of_range_is_not_known),
        cmocka_unit_test(members_of_other_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
