/* SPDX-License-Identifier: MIT
 *
 * The options of a run as the text of a variable: there and back, and texts that others wrote.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "record/run_text.h"

static struct hd_record_options options, back;
static char text[HD_RUN_TEXT_BYTES];

static void fill(void) {
    memset(&options, 0, sizeof options);
    memset(&back, 0, sizeof back);
    options.interval_ns = 1;
    options.threshold_ns = UINT64_MAX;
    options.launch_threshold_ns = 3;
    options.cpu_period_ns = 4;
    options.frame_drop_ns = 5;
    options.display_hz = 120;
    options.reports_per_day = UINT32_MAX;
    options.reports_per_fingerprint = 7;
    options.crash = options.without_paths = true;
    strcpy(options.app_name, "My App = good");
    strcpy(options.app_version, "1.0");
    strcpy(options.environment, "beta");
    memset(options.spool, 's', sizeof options.spool - 1);
}

static void test_there_and_back(void **state) {
    (void)state;
    fill();
    assert_int_equal(0, hd_run_text_write(&options, text, sizeof text));
    assert_int_equal(0, hd_run_text_read(&back, text));
    assert_memory_equal(&options, &back, sizeof back);
}

static void test_too_little_space(void **state) {
    (void)state;
    fill();
    assert_int_equal(-ENAMETOOLONG, hd_run_text_write(&options, text, 600));
}

static void test_a_line_break(void **state) {
    (void)state;
    fill();
    strcpy(options.environment, "be\nta");
    assert_int_equal(-EINVAL, hd_run_text_write(&options, text, sizeof text));
}

static void test_other_texts(void **state) {
    (void)state;
    fill();
    assert_int_equal(0, hd_run_text_read(&back, ""));
    assert_int_equal(0, hd_run_text_read(&back, "from_a_newer_one=x\ninterval_ns=9"));
    assert_int_equal(9, back.interval_ns);
    assert_int_equal(-EINVAL, hd_run_text_read(&back, "interval_ns"));
    assert_int_equal(-EINVAL, hd_run_text_read(&back, "interval_ns=\n"));
    assert_int_equal(-EINVAL, hd_run_text_read(&back, "interval_ns=-1\n"));
    assert_int_equal(-EINVAL, hd_run_text_read(&back, "interval_ns=18446744073709551616\n"));
    assert_int_equal(-EINVAL, hd_run_text_read(&back, "display_hz=4294967296\n"));
    assert_int_equal(-EINVAL, hd_run_text_read(&back, "crash=2\n"));
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "app_name=", 9); // NOLINT(bugprone-not-null-terminated-result): more text follows
    assert_int_equal(-ENAMETOOLONG, hd_run_text_read(&back, text));
    assert_int_equal(9, back.interval_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_too_little_space),
        cmocka_unit_test(test_a_line_break),
        cmocka_unit_test(test_other_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
