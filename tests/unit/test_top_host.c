/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define print_error cmocka_print_error /* cli/base/error.h has another one */
#include <cmocka.h>
#undef print_error

#include "cli/live/top_host_text.h"

static void take(struct top_host *h, const char *text) {
    json_t *status = json_loads(text, 0, NULL);
    assert_non_null(status);
    assert_true(top_host_take(h, status));
    json_decref(status);
}

#define BEFORE                                                                                     \
    "{\"hook\":\"switches\",\"at_ns\":1000000000,\"cpu_ns\":0,\"all_users\":true,\"processes\":["  \
    "{\"pid\":7,\"uid\":0,\"name\":\"redis-server\",\"loops\":1,\"busy_ns\":100,\"idle_ns\":900}," \
    "{\"pid\":9,\"uid\":0,\"name\":\"node\",\"loops\":2,\"busy_ns\":0,\"idle_ns\":0}]}"
#define NOW                                                                                                    \
    "{\"hook\":\"switches\",\"at_ns\":2000000000,\"cpu_ns\":1000000,\"all_users\":true,\"processes\":["        \
    "{\"pid\":7,\"uid\":0,\"name\":\"redis-server\",\"loops\":1,\"busy_ns\":350,\"idle_ns\":1650,\"hangs\":2," \
    "\"hang_ns\":3000000000,\"worst_ns\":2000000000,\"watched_ns\":1800000000000},"                            \
    "{\"pid\":9,\"uid\":0,\"name\":\"no\\u001b[2Jde\",\"loops\":2,\"busy_ns\":0,\"idle_ns\":0,"                \
    "\"frozen_ns\":5000000000}]}"

static void shares_are_of_the_time_between(void **state) {
    struct top_host h = {0};
    (void)state;
    take(&h, BEFORE);
    assert_true(h.row[0].busy_percent < 0);
    take(&h, NOW);
    assert_int_equal(h.row[0].pid, 7);
    assert_true(h.row[0].busy_percent > 24.9 && h.row[0].busy_percent < 25.1);
    assert_true(h.row[1].busy_percent < 0);
    assert_true(host_row_rate(&h.row[0]) > 3.99 && host_row_rate(&h.row[0]) < 4.01);
    assert_true(h.cpu_percent > 0.09 && h.cpu_percent < 0.11);
    take(&h, BEFORE); /* another agent counts from zero */
    assert_true(h.row[0].busy_percent < 0);
    top_host_free(&h);
}

static void frozen_programs_come_first(void **state) {
    struct top_host h = {0};
    struct top_page page = {0};
    struct top_host_state s = {0};
    (void)state;
    take(&h, NOW);
    top_host_sort(&h, HOST_BY_RATE);
    assert_int_equal(h.row[0].pid, 9);
    top_host_text(&page, &h, &s, 80, 24);
    assert_int_equal(page.count, 24);
    assert_string_equal(page.line[1].text, "1 frozen now");
    assert_non_null(strstr(page.line[3].text, "no?[2Jde")); /* nothing that a terminal obeys */
    assert_non_null(strstr(page.line[3].text, "frozen 5.0 s"));
    assert_non_null(strstr(page.line[4].text, "    2    4.0     3.0 s     2.0 s"));
    for (size_t i = 0; i < page.count; i++) {
        assert_true(strlen(page.line[i].text) <= 80);
    }
    top_page_clear(&page);
    top_host_sort(&h, HOST_BY_WORST);
    assert_int_equal(h.row[0].pid, 7);
    top_host_free(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_of_the_time_between),
        cmocka_unit_test(frozen_programs_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
