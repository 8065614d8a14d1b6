/* SPDX-License-Identifier: MIT
 *
 * The SQLite store: a file of the first version keeps its reports, settings last, and old reports go with
 * their sums.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/store/store.h"
#include "store_in_folder.h"

#define NOW_MS INT64_C(1790000000000)
#define FAR_MS INT64_C(9000000000000)

/* What the first version made, and no later one edits. */
static const char first_tables[] =
    "CREATE TABLE key(id INTEGER PRIMARY KEY, use INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE, made_ms INTEGER NOT NULL) STRICT;"
    "CREATE TABLE report(id TEXT PRIMARY KEY, grouped TEXT, app TEXT NOT NULL, version TEXT NOT NULL, system TEXT NOT NULL,"
    " kind TEXT NOT NULL, cause TEXT NOT NULL, session TEXT NOT NULL, own_fingerprint TEXT NOT NULL, brief INTEGER NOT NULL,"
    " started_ms INTEGER NOT NULL, duration_ms INTEGER NOT NULL, received_ms INTEGER NOT NULL, body BLOB NOT NULL) STRICT;"
    "CREATE INDEX report_of_group ON report(grouped, started_ms);"
    "CREATE INDEX report_of_session ON report(session, own_fingerprint);"
    "CREATE TABLE grouped(fingerprint TEXT PRIMARY KEY, rule INTEGER NOT NULL, app TEXT NOT NULL, function TEXT NOT NULL,"
    " place TEXT NOT NULL, cause TEXT NOT NULL, by_owner INTEGER NOT NULL, path TEXT NOT NULL, count INTEGER NOT NULL,"
    " total_ms INTEGER NOT NULL, max_ms INTEGER NOT NULL, users INTEGER NOT NULL, first_ms INTEGER NOT NULL,"
    " last_ms INTEGER NOT NULL) STRICT;"
    "CREATE INDEX grouped_by_time ON grouped(total_ms);"
    "CREATE TABLE user(fingerprint TEXT NOT NULL, who TEXT NOT NULL, PRIMARY KEY(fingerprint, who)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE hour(fingerprint TEXT NOT NULL, hour INTEGER NOT NULL, version TEXT NOT NULL, system TEXT NOT NULL,"
    " count INTEGER NOT NULL, total_ms INTEGER NOT NULL,"
    " PRIMARY KEY(fingerprint, hour, version, system)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE usage(app TEXT NOT NULL, version TEXT NOT NULL, hour INTEGER NOT NULL, runs INTEGER NOT NULL,"
    " used_ms INTEGER NOT NULL, PRIMARY KEY(app, version, hour)) STRICT, WITHOUT ROWID;"
    "INSERT INTO key VALUES(1, 1, zeroblob(32), 5);"
    "INSERT INTO report VALUES('old', 'f00', 'shop', '1', 'linux', 'hang', 'cpu', 's', 'o', 0, 7200000, 1500, 7300000, x'78');"
    "INSERT INTO grouped VALUES('f00', 1, 'shop', 'resize', '', 'cpu', 0, '', 1, 1500, 1500, 1, 7200000, 7200000);"
    "INSERT INTO user VALUES('f00', 'one');"
    "INSERT INTO hour VALUES('f00', 2, '1', 'linux', 1, 1500);"
    "PRAGMA user_version = 1;";

struct place {
    char folder[64], file[96];
};

static int set_up(void **state) {
    struct place *p = calloc(1, sizeof *p);
    snprintf(p->folder, sizeof p->folder, "/tmp/hangdog-test-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->file, sizeof p->file, "%s/store.db", p->folder);
    *state = p;
    return 0;
}

static int tear_down(void **state) {
    static const char *const ends[] = {"", "-wal", "-shm"};
    struct place *p = *state;
    char path[128];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", p->file, ends[i]);
        unlink(path);
    }
    rmdir(p->folder);
    free(p);
    return 0;
}

static struct store *open_store(const struct place *p) {
    struct problem why;
    struct store *s = store_open(&(struct store_place){.url = p->file}, &why);
    assert_non_null(s);
    return s;
}

static int64_t ask(const struct place *p, const char *sql) {
    return store_file_number(p->file, sql);
}

static void change(const struct place *p, const char *sql) {
    store_file_change(p->file, sql);
}

static struct row make_row(int number, const char *group, int64_t started_ms) {
    static unsigned char body[] = "text";
    struct row row = {.kind = "hang",
                      .app = "shop",
                      .version = "1",
                      .system = "linux",
                      .cause = "cpu",
                      .started_ms = started_ms,
                      .duration_ms = 700,
                      .grouped = true,
                      .body = body,
                      .body_bytes = 4};
    snprintf(row.id, sizeof row.id, "%d", number);
    snprintf(row.who, sizeof row.who, "user-%d", number);
    snprintf(row.group.fingerprint, sizeof row.group.fingerprint, "%s", group);
    return row;
}

static enum row_outcome add(struct store *s, int number, const char *group, int64_t started_ms) {
    struct row row = make_row(number, group, started_ms), *rows[] = {&row};
    assert_int_equal(store_add(s, rows, 1), STORE_DONE);
    return row.outcome;
}

static void a_file_of_the_first_version_keeps_its_reports(void **state) {
    const struct place *p = *state;
    struct store_key key;
    change(p, first_tables);
    struct store *s = open_store(p);
    json_t *group = store_group(s, "f00");
    assert_int_equal(json_integer_value(json_object_get(group, "total_ms")), 1500);
    assert_int_equal(json_array_size(json_object_get(group, "reports")), 1);
    json_decref(group);
    assert_int_equal(store_keys(s, &key, 1), 1);
    assert_true(store_setting_set(s, "retention_days", "7"));
    assert_int_equal(add(s, 1, "f00", NOW_MS), ROW_STORED);
    store_close(s);
    assert_true(ask(p, "PRAGMA user_version") > 1);
    assert_int_equal(ask(p, "SELECT count FROM grouped"), 2);
    assert_int_equal(
        ask(p, "SELECT total_ms FROM version_day WHERE app = 'shop' AND version = '1' AND day = 0"), 1500);
    assert_int_equal(ask(p, "SELECT total_ms FROM app_day WHERE app = 'shop' AND kind = 'hang' AND day = 0"),
                     1500);
}

static void a_file_of_a_later_version_stays_as_it_is(void **state) {
    const struct place *p = *state;
    struct problem why;
    change(p, "CREATE TABLE other(x); PRAGMA user_version = 999");
    assert_null(store_open(&(struct store_place){.url = p->file}, &why));
    assert_int_equal(ask(p, "SELECT count(*) FROM sqlite_schema"), 1);
}

static void a_setting_is_there_after_a_restart(void **state) {
    const struct place *p = *state;
    char value[STORE_SETTING_BYTES];
    struct store *s = open_store(p);
    assert_false(store_setting_get(s, "retention_days", value));
    assert_true(store_setting_set(s, "retention_days", "30"));
    assert_true(store_setting_set(s, "retention_days", "31"));
    store_close(s);
    s = open_store(p);
    assert_true(store_setting_get(s, "retention_days", value));
    assert_string_equal(value, "31");
    store_close(s);
}

/* Group `a` has old reports only, `b` one of them and a new one. */
static void old_reports_go_with_their_sums(void **state) {
    const struct place *p = *state;
    struct store *s = open_store(p);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(add(s, i, i < 9 ? "a" : "b", NOW_MS), ROW_STORED);
    }
    change(p, "UPDATE report SET received_ms = 1000");
    assert_int_equal(add(s, 10, "b", NOW_MS + 90000000), ROW_STORED);
    assert_int_equal(store_remove_old(s, 1000, 4), 0);
    assert_int_equal(store_remove_old(s, NOW_MS + 7200000, 4), 4);
    assert_int_equal(ask(p, "SELECT count(*) FROM grouped"), 2); /* sums go after the last of the reports */
    assert_int_equal(store_remove_old(s, NOW_MS + 7200000, 4), 4);
    change(p, "UPDATE report SET received_ms = 9000000000000 WHERE id = '10'");
    assert_int_equal(store_remove_old(s, NOW_MS + 7200000, 4), 2);
    store_close(s);
    assert_int_equal(ask(p, "SELECT count(*) FROM report"), 1);
    assert_int_equal(ask(p, "SELECT count(*) FROM grouped WHERE fingerprint = 'b'"), 1);
    assert_int_equal(ask(p, "SELECT count(*) FROM grouped"), 1);
    assert_int_equal(ask(p, "SELECT count(*) FROM group_day WHERE fingerprint = 'a'"), 0);
    assert_int_equal(ask(p, "SELECT count(*) FROM user WHERE fingerprint = 'a'"), 0);
}

static void the_file_becomes_smaller(void **state) {
    const struct place *p = *state;
    struct store *s = open_store(p);
    static unsigned char body[4096];
    for (int i = 0; i < 1000; i++) {
        struct row row = make_row(i, "a", NOW_MS), *rows[] = {&row};
        row.body = body;
        row.body_bytes = sizeof body;
        assert_int_equal(store_add(s, rows, 1), STORE_DONE);
    }
    int64_t before = ask(p, "PRAGMA page_count");
    while (store_remove_old(s, FAR_MS, 100) == 100) {
    }
    store_close(s);
    assert_true(ask(p, "PRAGMA page_count") < before / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_of_the_first_version_keeps_its_reports, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_of_a_later_version_stays_as_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_setting_is_there_after_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_reports_go_with_their_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_file_becomes_smaller, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
