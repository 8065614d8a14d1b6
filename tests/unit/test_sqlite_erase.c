/* SPDX-License-Identifier: MIT
 *
 * Reports that are erased leave no trace: the sums are those of a store that never had them.
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

/* The report of a run of this user, which had this many hangs. */
static void add_run(const struct store_in_folder *p, unsigned number, const char *app, const char *user,
                    int hangs) {
    char text[1024];
    struct schema_fault fault;
    struct row row, *rows[] = {&row};
    snprintf(text, sizeof text,
             "{\"format\":\"hangdog-report/1\",\"id\":\"00000000-0000-7000-8000-%012u\",\"kind\":\"session\","
             "\"complete\":true,\"started_at\":\"2026-01-31T11:00:00Z\",\"duration_ns\":60000000000,"
             "\"app\":{\"name\":\"%s\",\"version\":\"1\",\"pid\":7,\"session\":\"%s\",\"install\":\"%s\"},"
             "\"host\":{\"os\":\"linux\",\"arch\":\"x86_64\"},\"process\":{},"
             "\"session\":{\"used_ns\":60000000000,\"hangs\":%d}}",
             number, app, user, user, hangs);
    if (!row_make(text, strlen(text), p->schema, &row, &fault)) {
        fail_msg("%s %s", fault.at, fault.reason);
    }
    assert_int_equal(store_add(p->store, rows, 1), STORE_DONE);
    row_free(&row);
}

static void add_bob(const struct store_in_folder *p) {
    store_add_one(p, 2, "bob", 900, RESIZE);
    add_run(p, 12, "shop", "bob", 1);
    add_run(p, 13, "mail", "bob", 0);
}

static void add_ann(const struct store_in_folder *p) {
    store_add_one(p, 1, "ann", 1900, RESIZE);
    store_add_one(p, 3, "ann", 500, BLUR);
    add_run(p, 11, "shop", "ann", 2);
}

static long erase(const struct store_in_folder *p, const struct store_erasure *what, long rows) {
    long erased = 0;
    for (int64_t at = 0; at >= 0;) {
        long piece = store_erase(p->store, what, p->schema, &at, rows);
        assert_true(piece >= 0);
        erased += piece;
    }
    return erased;
}

/* First and last times of a version in a group stay: to find the ones before would read all its reports. */
static char *sums_without_times(const struct store_in_folder *p) {
    char *text = store_file_sums(p->file);
    for (char *at = text; (at = strstr(at, "st_ms=")) != NULL;) {
        for (at += strlen("st_ms="); *at >= '0' && *at <= '9'; at++) {
            *at = '-';
        }
    }
    return text;
}

/* The store has what another one has that got only these reports. */
static void assert_as_if_only(const struct store_in_folder *p, void (*add)(const struct store_in_folder *p)) {
    void *other = NULL;
    assert_int_equal(store_set_up(&other), 0);
    add(other);
    char *a = sums_without_times(p), *b = sums_without_times(other);
    assert_string_equal(a, b);
    free(a);
    free(b);
    assert_int_equal(store_tear_down(&other), 0);
}

static void nothing(const struct store_in_folder *p) {
    (void)p;
}

static void a_user_is_erased(void **state) {
    const struct store_in_folder *p = *state;
    add_ann(p);
    add_bob(p);
    assert_int_equal(erase(p, &(struct store_erasure){.user = "nobody"}, 100), 0);
    assert_int_equal(erase(p, &(struct store_erasure){.user = "ann"}, 2), 3);
    assert_int_equal(store_number(p, "SELECT count(*) FROM report"), 3);
    assert_as_if_only(p, add_bob);
}

static void reports_are_erased_one_by_one(void **state) {
    const struct store_in_folder *p = *state;
    add_bob(p);
    add_ann(p);
    const char *const ids[] = {"00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000003",
                               "00000000-0000-7000-8000-000000000011"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(erase(p, &(struct store_erasure){.id = ids[i]}, 100), 1);
        assert_int_equal(erase(p, &(struct store_erasure){.id = ids[i]}, 100), 0);
    }
    assert_as_if_only(p, add_bob);
}

static void add_mail(const struct store_in_folder *p) {
    add_run(p, 13, "mail", "bob", 0);
}

static void an_app_is_erased_with_its_notes(void **state) {
    const struct store_in_folder *p = *state;
    add_ann(p);
    add_bob(p);
    store_change(p, "INSERT INTO issue SELECT fingerprint, 'open', 'ann told us', '', 0, 0 FROM grouped");
    assert_int_equal(erase(p, &(struct store_erasure){.app = "shop"}, 2), 5);
    assert_as_if_only(p, add_mail);
    assert_int_equal(store_number(p, "SELECT count(*) FROM issue"), 0);
    assert_int_equal(erase(p, &(struct store_erasure){.app = "mail"}, 2), 1);
    assert_as_if_only(p, nothing);
}

/* Its body is refused now, and it was counted by a version that its body does not have. */
static void a_report_of_an_earlier_version_is_erased(void **state) {
    const struct store_in_folder *p = *state;
    add_ann(p);
    add_bob(p);
    store_change(
        p, "UPDATE report SET version = 'old' WHERE app = 'shop'; UPDATE group_version SET version = 'old';"
           "UPDATE app_version SET version = 'old' WHERE app = 'shop';"
           "UPDATE version_day SET version = 'old' WHERE app = 'shop';"
           "UPDATE report SET body = x'00' WHERE id LIKE '%1'");
    assert_int_equal(erase(p, &(struct store_erasure){.user = "ann"}, 100),
                     3); /* by the run, where no body says it */
    assert_int_equal(erase(p, &(struct store_erasure){.app = "shop"}, 100), 2);
    assert_as_if_only(p, add_mail);
}

static void what_is_erased_is_not_in_the_file(void **state) {
    struct store_in_folder *p = *state;
    store_add_one(p, 1, "ann-of-the-third-floor", 1900, RESIZE);
    assert_int_equal(erase(p, &(struct store_erasure){.user = "ann-of-the-third-floor"}, 100), 1);
    store_change(p, "PRAGMA wal_checkpoint(TRUNCATE)");
    FILE *file = fopen(p->file, "r");
    static char bytes[1 << 20];
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(n > 0 && n < sizeof bytes);
    assert_null(memmem(bytes, n, "ann-of-the-third", 16));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_user_is_erased, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(reports_are_erased_one_by_one, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(an_app_is_erased_with_its_notes, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(a_report_of_an_earlier_version_is_erased, store_set_up,
                                        store_tear_down),
        cmocka_unit_test_setup_teardown(what_is_erased_is_not_in_the_file, store_set_up, store_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
