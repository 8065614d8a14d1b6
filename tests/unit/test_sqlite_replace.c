/* SPDX-License-Identifier: MIT
 *
 * A report that gets names moves to the group of these names, and all counts move along. What waits for a
 * debug file is listed, and waits no more after its end.
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

#define RESIZE STORE_NAMED("resize")
#define BLUR STORE_NAMED("blur")

static enum store_result name(const struct store_in_folder *p, unsigned number, const char *user, int ms,
                              const char *frame) {
    struct row row;
    store_row(p, &row, number, user, ms, frame);
    enum store_result result = store_replace(p->store, &row);
    row_free(&row);
    return result;
}

static int64_t of_group(const struct store_in_folder *p, const char *function, const char *column) {
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT coalesce((SELECT %s FROM grouped WHERE function = '%s'), -1)", column,
             function);
    return store_number(p, sql);
}

/* Each table of sums has as much as the reports themselves. */
static void assert_sums_fit(const struct store_in_folder *p) {
    static const char *const tables[] = {"group_day", "group_version", "group_system", "group_duration"};
    static const char reports[] = "SELECT count(*) * 1000000 + sum(duration_ms) FROM report";
    char sql[256];
    int64_t all = store_number(p, reports);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        snprintf(sql, sizeof sql, "SELECT sum(count) * 1000000 + sum(total_ms) FROM %s", tables[i]);
        assert_int_equal(store_number(p, sql), all);
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM %s WHERE fingerprint NOT IN (SELECT fingerprint FROM grouped)",
                 tables[i]);
        assert_int_equal(store_number(p, sql), 0);
    }
    assert_int_equal(store_number(p, "SELECT sum(count) * 1000000 + sum(total_ms) FROM grouped"), all);
    assert_int_equal(store_number(p,
                                  "SELECT count(*) FROM (SELECT g.users AS a, (SELECT count(*) FROM user u"
                                  " WHERE u.fingerprint = g.fingerprint) AS b FROM grouped g) WHERE a <> b"),
                     0);
    assert_int_equal(store_number(p, "SELECT count(*) FROM way WHERE grouped NOT IN"
                                     " (SELECT fingerprint FROM grouped)"),
                     0);
}

static void a_named_report_moves_with_its_counts(void **state) {
    const struct store_in_folder *p = *state;
    store_add_one(p, 1, "ann", 700, STORE_NO_NAME);
    store_add_one(p, 2, "bob", 900, STORE_NO_NAME);
    store_add_one(p, 3, "ann", 500, RESIZE);
    assert_int_equal(store_number(p, "SELECT count(*) FROM grouped"), 2);
    assert_int_equal(name(p, 2, "bob", 900, RESIZE), STORE_DONE);
    assert_sums_fit(p);
    assert_int_equal(of_group(p, "resize", "count"), 2);
    assert_int_equal(of_group(p, "resize", "users"), 2);
    assert_int_equal(of_group(p, "resize", "max_ms"), 900);
    assert_int_equal(store_number(p, "SELECT max_ms FROM grouped WHERE function <> 'resize'"), 700);
    assert_int_equal(store_number(p, "SELECT users FROM grouped WHERE function <> 'resize'"), 1);
    assert_int_equal(name(p, 1, "ann", 700, RESIZE), STORE_DONE);
    assert_sums_fit(p);
    assert_int_equal(store_number(p, "SELECT count(*) FROM grouped"),
                     1); /* the group without names is gone */
    assert_int_equal(of_group(p, "resize", "total_ms"), 2100);
    assert_int_equal(of_group(p, "resize", "users"), 2);
}

static void the_text_is_the_new_one(void **state) {
    const struct store_in_folder *p = *state;
    size_t bytes = 0;
    store_add_one(p, 1, "ann", 700, STORE_NO_NAME);
    assert_int_equal(name(p, 1, "ann", 700, BLUR), STORE_DONE);
    char *text = store_report(p->store, "00000000-0000-7000-8000-000000000001", &bytes);
    assert_non_null(text);
    assert_non_null(strstr(text, "\"blur\""));
    free(text);
}

static void a_user_of_two_reports_stays_in_the_group(void **state) {
    const struct store_in_folder *p = *state;
    store_add_one(p, 1, "ann", 700, STORE_NO_NAME);
    store_add_one(p, 2, "ann", 700, STORE_NO_NAME);
    assert_int_equal(name(p, 2, "ann", 700, BLUR), STORE_DONE);
    assert_sums_fit(p);
    assert_int_equal(store_number(p, "SELECT users FROM grouped WHERE function <> 'blur'"), 1);
    assert_int_equal(of_group(p, "blur", "users"), 1);
}

static void the_same_names_again_change_no_count(void **state) {
    const struct store_in_folder *p = *state;
    store_add_one(p, 1, "ann", 700, RESIZE);
    store_add_one(p, 2, "bob", 300, RESIZE);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(name(p, 1, "ann", 700, RESIZE), STORE_DONE);
        assert_sums_fit(p);
        assert_int_equal(of_group(p, "resize", "count"), 2);
        assert_int_equal(of_group(p, "resize", "users"), 2);
        assert_int_equal(of_group(p, "resize", "max_ms"), 700);
    }
}

static void a_report_that_is_gone_is_not_added(void **state) {
    const struct store_in_folder *p = *state;
    store_add_one(p, 1, "ann", 700, RESIZE);
    assert_int_equal(name(p, 2, "ann", 700, RESIZE), STORE_DONE);
    assert_int_equal(store_number(p, "SELECT count(*) FROM report"), 1);
    assert_sums_fit(p);
}

static void a_store_that_fails_changes_nothing(void **state) {
    const struct store_in_folder *p = *state;
    store_add_one(p, 1, "ann", 700, STORE_NO_NAME);
    store_change(p,
                 "CREATE TRIGGER full BEFORE UPDATE OF body ON report BEGIN SELECT raise(ABORT, 'x'); END");
    assert_int_equal(name(p, 1, "ann", 700, RESIZE), STORE_FAILED);
    assert_sums_fit(p);
    assert_int_equal(of_group(p, "resize", "count"), -1);
    assert_int_equal(store_number(p, "SELECT count(*) FROM report WHERE grouped IS NULL"), 0);
    store_change(p, "DROP TRIGGER full");
    assert_int_equal(name(p, 1, "ann", 700, RESIZE), STORE_DONE);
    assert_sums_fit(p);
}

static void what_waits_is_listed_in_pieces(void **state) {
    const struct store_in_folder *p = *state;
    char ids[3][ROW_ID_CHARS + 1];
    for (unsigned i = 1; i <= 3; i++) {
        store_add_one(p, i, "ann", 700, STORE_NO_NAME);
    }
    store_add_one(p, 4, "ann", 700, RESIZE); /* lacks no name */
    assert_int_equal(store_unnamed(p->store, STORE_BUILD, ids, 2), 2);
    assert_string_equal(ids[0], "00000000-0000-7000-8000-000000000001");
    assert_true(store_end_unnamed(p->store, STORE_BUILD, ids[0]));
    assert_int_equal(store_unnamed(p->store, STORE_BUILD, ids, 3), 2);
    assert_string_equal(ids[0], "00000000-0000-7000-8000-000000000002");
    assert_int_equal(store_unnamed(p->store, "abcdef01234567", ids, 3), 0);
    assert_int_equal(store_unnamed(p->store, "' OR 1 --", ids, 3), 0);
    assert_true(store_end_unnamed(p->store, "ab", "none"));
    assert_int_equal(store_number(p, "SELECT count(*) FROM unnamed"), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_named_report_moves_with_its_counts, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(the_text_is_the_new_one, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(a_user_of_two_reports_stays_in_the_group, store_set_up,
                                        store_tear_down),
        cmocka_unit_test_setup_teardown(the_same_names_again_change_no_count, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(a_report_that_is_gone_is_not_added, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(a_store_that_fails_changes_nothing, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(what_waits_is_listed_in_pieces, store_set_up, store_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
