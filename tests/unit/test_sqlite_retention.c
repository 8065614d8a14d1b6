/* SPDX-License-Identifier: MIT
 *
 * Retention: what waits for a debug file goes with its report, in pieces, and what is still there waits on. A
 * time that another clock gave keeps no other report, and removes none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include "collector/store/store.h"
#include "store_in_folder.h"

#define FAR_MS INT64_C(9000000000000)
#define A_STEP 200

static int64_t waiting(const struct store_in_folder *p) {
    return store_number(p, "SELECT count(*) FROM unnamed");
}

static void what_waits_goes_with_its_report(void **state) {
    const struct store_in_folder *p = *state;
    char ids[8][ROW_ID_CHARS + 1];
    for (unsigned i = 1; i <= 5; i++) {
        store_add_one(p, i, "ann", 700, STORE_NO_NAME);
    }
    assert_int_equal(waiting(p), 5);
    assert_int_equal(store_remove_old(p->store, 1000, A_STEP), 0);
    assert_int_equal(waiting(p), 5);
    store_change(p, "UPDATE report SET received_ms = 1 WHERE id < '00000000-0000-7000-8000-000000000004'");
    assert_int_equal(store_remove_old(p->store, 1000, A_STEP), 3);
    assert_int_equal(waiting(p), 2);
    assert_int_equal(store_unnamed(p->store, STORE_BUILD, ids, 8), 2);
    assert_string_equal(ids[0], "00000000-0000-7000-8000-000000000004");
    assert_string_equal(ids[1], "00000000-0000-7000-8000-000000000005");
}

static void a_report_of_many_files_goes_from_all(void **state) {
    const struct store_in_folder *p = *state;
    store_add_one(p, 1, "ann", 700, STORE_NO_NAME);
    store_change(p, "INSERT INTO unnamed SELECT build_id || 'ff', report FROM unnamed");
    store_change(p, "INSERT INTO unnamed SELECT '00' || build_id, report FROM unnamed");
    assert_int_equal(waiting(p), 4);
    assert_int_equal(store_remove_old(p->store, FAR_MS, A_STEP), 1);
    assert_int_equal(waiting(p), 0);
}

#define MANY(from, to, text)                                                                  \
    "WITH RECURSIVE n(x) AS (SELECT " from " UNION ALL SELECT x + 1 FROM n WHERE x < " to ")" \
    " INSERT INTO unnamed SELECT printf('%016x', x / 100), " text " FROM n"

/* 9,000 rows are five pieces: one step removes no more than its own. A report that is there is between them.
 */
static void a_step_has_a_limit_and_the_next_one_continues(void **state) {
    const struct store_in_folder *p = *state;
    store_add_one(p, 1, "ann", 700, STORE_NO_NAME);
    store_change(p, MANY("1", "9000", "printf('gone-%d', x)"));
    int64_t before = waiting(p);
    assert_int_equal(before, 9001);
    for (int step = 0; step < 5; step++) {
        assert_int_equal(store_remove_old(p->store, 1000, A_STEP), 0);
        int64_t now = waiting(p);
        assert_in_range(before - now, 1, 2001);
        before = now;
    }
    assert_int_equal(before, 1);
    store_change(p, MANY("1", "10", "printf('gone-%d', x)")); /* the next round starts at the first row */
    assert_int_equal(store_remove_old(p->store, 1000, A_STEP), 0);
    assert_int_equal(waiting(p), 1);
}

static int64_t reports(const struct store_in_folder *p) {
    return store_number(p, "SELECT count(*) FROM report");
}

#define MANY_REPORTS(from, to, when)                                                                            \
    "WITH RECURSIVE n(x) AS (SELECT " from " UNION ALL SELECT x + 1 FROM n WHERE x < " to ")"                   \
    " INSERT INTO report SELECT printf('r%d', x), NULL, 'shop', '1', '', 'hang', 'cpu', '', '', 0, 1, 1, " when \
    ", x'', '', '', '', '', '' FROM n"

/* A whole step of them, and one more, at the head. */
static void reports_of_the_future_keep_no_later_ones(void **state) {
    const struct store_in_folder *p = *state;
    store_change(p, MANY_REPORTS("1", "300", "8000000000000"));
    store_change(p, MANY_REPORTS("301", "400", "1000 + x"));
    long removed = 0, step;
    do {
        step = store_remove_old(p->store, 1500, A_STEP);
        removed += step;
    } while (step == A_STEP);
    assert_int_equal(removed, 400);
    assert_int_equal(reports(p), 0);
    /* With no later one they came now. */
    store_change(p, MANY_REPORTS("1", "10", "8000000000000"));
    assert_int_equal(store_remove_old(p->store, 1500, A_STEP), 0);
    assert_int_equal(reports(p), 10);
    assert_int_equal(store_number(p, "SELECT count(*) FROM report WHERE received_ms > 5000000000000"), 0);
}

/* While the clock was behind, reports came behind one of today. */
static void reports_with_an_old_time_stay_as_long_as_those_before_them(void **state) {
    const struct store_in_folder *p = *state;
    store_change(p, MANY_REPORTS("1", "5", "1000"));
    store_add_one(p, 1, "ann", 700, STORE_NO_NAME);
    store_change(p, MANY_REPORTS("6", "9", "1000"));
    assert_int_equal(store_remove_old(p->store, 1500, A_STEP), 5);
    assert_int_equal(reports(p), 5);
    assert_int_equal(store_about_reports(p->store), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_waits_goes_with_its_report, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(a_report_of_many_files_goes_from_all, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(a_step_has_a_limit_and_the_next_one_continues, store_set_up,
                                        store_tear_down),
        cmocka_unit_test_setup_teardown(reports_of_the_future_keep_no_later_ones, store_set_up,
                                        store_tear_down),
        cmocka_unit_test_setup_teardown(reports_with_an_old_time_stay_as_long_as_those_before_them,
                                        store_set_up, store_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
