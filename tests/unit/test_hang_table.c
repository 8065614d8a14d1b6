/* SPDX-License-Identifier: MIT
 *
 * The hangs of a run: rows by function and cause, the worst, and which repeats have a line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cli/reporter/hang_table.h"
#include "os/os.h"

static struct hang_table table;

static struct hang_row *add(const char *function, const char *cause, uint64_t ms, uint64_t at_s) {
    return hang_table_add(&table, &(struct hang_seen){.function = function,
                                                      .cause = cause,
                                                      .id = "an id",
                                                      .duration_ns = ms * HD_NS_PER_MS,
                                                      .now_ns = at_s * HD_NS_PER_S});
}

static int clear(void **state) {
    (void)state;
    table = (struct hang_table){0};
    return 0;
}

static void function_and_cause_make_a_row(void **state) {
    (void)state;
    add("f (a.c:1)", "lock", 600, 1);
    const struct hang_row *r = add("f (a.c:1)", "lock", 900, 2);
    add("f (a.c:1)", "cpu", 500, 3);
    assert_int_equal(table.rows, 2);
    assert_int_equal(r->count, 2);
    assert_int_equal(r->total_ns, 1500 * HD_NS_PER_MS);
    assert_int_equal(r->max_ns, 900 * HD_NS_PER_MS);
}

static void a_long_name_is_one_row(void **state) {
    (void)state;
    char name[300];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    add(name, "cpu", 500, 1);
    add(name, "cpu", 500, 2);
    assert_int_equal(table.rows, 1);
}

static void the_worst_come_first(void **state) {
    (void)state;
    static const unsigned ms[] = {500, 3000, 700, 2000, 600, 900};
    unsigned worst[3];
    char name[8];
    for (unsigned i = 0; i < sizeof ms / sizeof ms[0]; i++) {
        snprintf(name, sizeof name, "f%u", i);
        add(name, "cpu", ms[i], i);
    }
    assert_int_equal(hang_table_worst(&table, worst, 3), 3);
    assert_int_equal(worst[0], 1);
    assert_int_equal(worst[1], 3);
    assert_int_equal(worst[2], 5);
}

static void a_full_table_loses_what_cost_least(void **state) {
    (void)state;
    unsigned worst;
    char name[8];
    for (unsigned i = 0; i <= HANG_ROWS; i++) {
        snprintf(name, sizeof name, "f%u", i);
        add(name, "cpu", i == 7 ? 100 : 1000 + i, i);
    }
    assert_int_equal(table.rows, HANG_ROWS);
    assert_string_equal(table.row[7].function, "f64");
    assert_int_equal(hang_table_worst(&table, &worst, 1), 1);
    assert_int_equal(worst, 7);
}

static void of_frequent_repeats_few_have_a_line(void **state) {
    (void)state;
    char lines[256] = "";
    for (unsigned i = 1; i <= 220; i++) {
        size_t n = strlen(lines);
        if (hang_row_is_due(add("f", "cpu", 500, i))) {
            snprintf(lines + n, sizeof lines - n, " %u", i);
        }
    }
    assert_string_equal(lines, " 1 2 3 4 5 10 20 50 100 200");
}

static void of_rare_repeats_each_has_one(void **state) {
    (void)state;
    for (unsigned i = 1; i <= 40; i++) {
        assert_true(hang_row_is_due(add("f", "cpu", 500, 20 * i)));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(function_and_cause_make_a_row, clear),
        cmocka_unit_test_setup(a_long_name_is_one_row, clear),
        cmocka_unit_test_setup(the_worst_come_first, clear),
        cmocka_unit_test_setup(a_full_table_loses_what_cost_least, clear),
        cmocka_unit_test_setup(of_frequent_repeats_few_have_a_line, clear),
        cmocka_unit_test_setup(of_rare_repeats_each_has_one, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
