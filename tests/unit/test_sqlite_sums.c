/* SPDX-License-Identifier: MIT
 *
 * The sums of the SQLite store: reports of one transaction add up to what they add up to one by one, each
 * counts once, and a transaction that fails leaves nothing. So they do in a busy store, which settles them
 * later: also after a kill.
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
#include <sys/wait.h>
#include <unistd.h>

#include "collector/store/sqlite_private.h"
#include "collector/store/store.h"
#include "store_in_folder.h"

#define DAY INT64_C(86400000)
#define NOW_MS (20000 * DAY)
#define ROWS 300
#define MANY 1600
#define BUSY 1000 /* the first ones: a store that gets so many at once is busy */

struct place {
    char folder[64], file[96];
};

static int set_up(void **state) {
    struct place *p = calloc(2, sizeof *p);
    for (int i = 0; i < 2; i++) {
        snprintf(p[i].folder, sizeof p[i].folder, "/tmp/hangdog-test-XXXXXX");
        assert_non_null(mkdtemp(p[i].folder));
        snprintf(p[i].file, sizeof p[i].file, "%s/store.db", p[i].folder);
    }
    *state = p;
    return 0;
}

static int tear_down(void **state) {
    static const char *const ends[] = {"", "-wal", "-shm"};
    struct place *p = *state;
    char path[128];
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s%s", p[i / 3].file, ends[i % 3]);
        unlink(path);
    }
    rmdir(p[0].folder);
    rmdir(p[1].folder);
    free(p);
    return 0;
}

static struct store *open_limited(const struct place *p, long mib) {
    struct problem why;
    struct store *s = store_open(&(struct store_place){.url = p->file, .limit_mib = mib}, &why);
    assert_non_null(s);
    return s;
}

static struct store *open_store(const struct place *p) {
    return open_limited(p, 0);
}

static void change(const struct place *p, const char *sql) {
    store_file_change(p->file, sql);
}

static void assert_same_sums(const struct place *one, const struct place *other) {
    char *a = store_file_sums(one->file), *b = store_file_sums(other->file);
    assert_true(strlen(a) > 0);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

/* Hangs, sessions and errors of two apps; some ids come twice, some are brief repeats. */
static void make_rows(struct row *rows, unsigned count) {
    static unsigned char body[] = "text";
    static const char *const kinds[] = {"hang", "launch", "session", "error"};
    memset(rows, 0, count * sizeof *rows);
    for (unsigned i = 0; i < count; i++) {
        struct row *row = &rows[i];
        unsigned n = i % 9 == 8 ? i - 5 : i; /* the same again */
        snprintf(row->id, sizeof row->id, "id-%u", n);
        snprintf(row->kind, sizeof row->kind, "%s", kinds[n % 7 % 4]);
        snprintf(row->app, sizeof row->app, "app-%u", n % 2);
        snprintf(row->version, sizeof row->version, "%u", n % 5);
        snprintf(row->system, sizeof row->system, "linux %u", n % 3);
        snprintf(row->cause, sizeof row->cause, "cpu");
        snprintf(row->who, sizeof row->who, "user-%u", n % 5);
        snprintf(row->session, sizeof row->session, "run-%u", n % 80);
        snprintf(row->own_fingerprint, sizeof row->own_fingerprint, "own-%u", n % 11);
        snprintf(row->repeat_of, sizeof row->repeat_of, "%s", n % 13 == 12 ? "id-0" : "");
        row->started_ms = NOW_MS + n % 17 * DAY / 2;
        row->duration_ms = 300 + n * 37 % 5000;
        row->is_session = strcmp(row->kind, "session") == 0;
        row->is_hang = n % 7 % 4 < 2;
        row->used_ms = row->is_session ? 1000 * n : 0;
        row->hang_free = row->is_session && n % 2 == 0;
        row->grouped = !row->is_session;
        snprintf(row->group.fingerprint, sizeof row->group.fingerprint, "f%u", n % 12);
        snprintf(row->group.family, sizeof row->group.family, "%s", n % 12 < 8 ? "family" : "");
        snprintf(row->group.frames, sizeof row->group.frames, "whole\n%u\nmain\n", n % 12);
        if (row->grouped && n % 4 == 0) {
            snprintf(row->unnamed[row->unnamed_count++], UNNAMED_ID_BYTES, "%08x", n);
            snprintf(row->unnamed[row->unnamed_count++], UNNAMED_ID_BYTES, "ffff");
        }
        row->body = body;
        row->body_bytes = sizeof body;
    }
}

static void add_by(struct store *s, struct row *rows, size_t count, size_t each) {
    struct row *list[MANY];
    for (size_t i = 0; i < count; i += each) {
        size_t n = 0;
        while (n < each && i + n < count) {
            list[n] = &rows[i + n];
            n++;
        }
        assert_int_equal(store_add(s, list, n), STORE_DONE);
    }
}

static void a_batch_adds_up_as_single_reports_do(void **state) {
    const struct place *p = *state;
    struct row *rows = calloc(ROWS, sizeof *rows);
    struct store *one = open_store(&p[0]), *all = open_store(&p[1]);
    make_rows(rows, ROWS);
    add_by(one, rows, ROWS, 1);
    make_rows(rows, ROWS);
    add_by(all, rows, ROWS, 250);
    assert_same_sums(&p[0], &p[1]);
    store_close(one);
    store_close(all);
    free(rows);
}

static void a_report_counts_once_in_its_batch(void **state) {
    const struct place *p = *state;
    struct row *rows = calloc(ROWS, sizeof *rows);
    struct store *s = open_store(&p[0]);
    make_rows(rows, ROWS);
    struct row twin = rows[1], *list[] = {&rows[1], &twin, &rows[10]}; /* the last is like no other */
    assert_int_equal(store_add(s, list, 3), STORE_DONE);
    assert_int_equal(rows[1].outcome, ROW_STORED);
    assert_int_equal(twin.outcome, ROW_REPEATED);
    json_t *group = store_group(s, rows[1].group.fingerprint);
    assert_int_equal(json_integer_value(json_object_get(group, "count")), 1);
    assert_int_equal(json_integer_value(json_object_get(group, "users")), 1);
    assert_int_equal(json_integer_value(json_object_get(group, "total_ms")), rows[1].duration_ms);
    assert_int_equal(json_integer_value(json_object_get(group, "max_ms")), rows[1].duration_ms);
    const json_t *version = json_array_get(json_object_get(group, "versions"), 0);
    assert_int_equal(json_integer_value(json_object_get(version, "first_ms")), rows[1].started_ms);
    assert_int_equal(json_integer_value(json_object_get(version, "last_ms")), rows[1].started_ms);
    json_decref(group);
    store_close(s);
    free(rows);
}

static void a_transaction_that_fails_adds_nothing(void **state) {
    const struct place *p = *state;
    struct row *rows = calloc(ROWS, sizeof *rows), *list[ROWS];
    struct store *s = open_store(&p[0]), *other = open_store(&p[1]);
    make_rows(rows, ROWS);
    for (int i = 0; i < ROWS; i++) {
        list[i] = &rows[i];
    }
    assert_int_equal(store_add(s, list, 100), STORE_DONE);
    char *before = store_file_sums(p[0].file);
    change(&p[0], "CREATE TRIGGER no BEFORE INSERT ON report WHEN NEW.id = 'id-250' BEGIN"
                  " SELECT RAISE(ABORT, 'no'); END");
    assert_int_equal(store_add(s, list + 100, ROWS - 100), STORE_FAILED);
    assert_int_equal(rows[100].outcome, ROW_PENDING);
    char *after = store_file_sums(p[0].file);
    assert_string_equal(before, after);
    change(&p[0], "DROP TRIGGER no");
    make_rows(rows, ROWS);
    assert_int_equal(store_add(s, list + 100, ROWS - 100), STORE_DONE);
    make_rows(rows, ROWS);
    add_by(other, rows, ROWS, ROWS);
    assert_same_sums(&p[0], &p[1]);
    store_close(s);
    store_close(other);
    free(before);
    free(after);
    free(rows);
}

static int64_t ask(const struct place *p, const char *sql) {
    return store_file_number(p->file, sql);
}

/* Adds the rows to a store that is busy after the first ones; the others only arrive. */
static struct store *add_many(const struct place *p, struct row *rows) {
    struct store *s = open_store(p);
    make_rows(rows, MANY);
    add_by(s, rows, BUSY, BUSY);
    add_by(s, rows + BUSY, MANY - BUSY, 100);
    return s;
}

static void assert_all_are_in_place(const struct place *p, const struct place *other, struct row *rows) {
    struct store *s = open_store(other);
    make_rows(rows, MANY);
    add_by(s, rows, BUSY, BUSY / 2);
    store_close(s);
    for (size_t i = BUSY; i < MANY; i += 300) { /* one store a transaction: it is never busy */
        s = open_store(other);
        add_by(s, rows + i, 300, 300);
        store_close(s);
    }
    assert_int_equal(ask(p, "SELECT count(*) FROM arrived"), 0);
    assert_int_equal(ask(p, "SELECT count(*) FROM report"), ask(other, "SELECT count(*) FROM report"));
    assert_same_sums(p, other);
}

static void a_busy_store_settles_what_arrived(void **state) {
    const struct place *p = *state;
    struct row *rows = calloc(MANY, sizeof *rows);
    struct store *s = add_many(&p[0], rows);
    assert_true(ask(&p[0], "SELECT count(*) FROM arrived") > 0);
    assert_true(ask(&p[0], "SELECT count(*) FROM arrived") < MANY - BUSY); /* some came twice */
    json_decref(store_counts(s));                                          /* a reader settles */
    assert_all_are_in_place(&p[0], &p[1], rows);
    store_close(s);
    free(rows);
}

static void what_arrived_before_a_kill_is_there_once(void **state) {
    const struct place *p = *state;
    struct row *rows = calloc(MANY, sizeof *rows);
    pid_t child = fork();
    if (child == 0) {
        add_many(&p[0], rows);
        _exit(0); /* as a kill leaves the file */
    }
    waitpid(child, NULL, 0);
    assert_true(ask(&p[0], "SELECT count(*) FROM arrived") > 0);
    struct store *s = open_store(&p[0]);
    assert_all_are_in_place(&p[0], &p[1], rows);
    struct row *again[] = {&rows[BUSY]};
    assert_int_equal(store_add(s, again, 1), STORE_DONE);
    assert_int_equal(rows[BUSY].outcome, ROW_REPEATED);
    store_close(s);
    free(rows);
}

static void a_busy_store_says_what_it_has(void **state) {
    const struct place *p = *state;
    struct row *rows = calloc(MANY, sizeof *rows);
    struct store *s = add_many(&p[0], rows);
    struct row *list[] = {&rows[MANY - 1], &rows[0]};
    assert_int_equal(store_add(s, list, 2), STORE_DONE);
    assert_int_equal(rows[MANY - 1].outcome, ROW_REPEATED); /* it arrived */
    assert_int_equal(rows[0].outcome, ROW_REPEATED);        /* it is in its place */
    snprintf(rows[0].id, sizeof rows[0].id, "new");
    snprintf(rows[1].id, sizeof rows[1].id, "bad");
    list[0] = &rows[0];
    list[1] = &rows[1];
    change(&p[0], "CREATE TRIGGER no BEFORE INSERT ON arrived WHEN NEW.id = 'bad' BEGIN"
                  " SELECT RAISE(ABORT, 'no'); END");
    assert_int_equal(store_add(s, list, 2), STORE_FAILED);
    assert_int_equal(rows[0].outcome, ROW_PENDING);
    change(&p[0], "DROP TRIGGER no");
    assert_int_equal(store_add(s, list, 2), STORE_DONE);
    assert_int_equal(rows[0].outcome, ROW_STORED);
    store_close(s);
    assert_int_equal(ask(&p[0], "SELECT count(*) FROM report WHERE id IN ('new', 'bad')"), 2);
    free(rows);
}

/* Reports that are too large to be settled where the file may not grow. */
static void a_full_busy_store_keeps_what_it_acknowledged(void **state) {
    static unsigned char large[8000];
    const struct place *p = *state;
    struct row *rows = calloc(MANY, sizeof *rows);
    struct store *s = open_limited(&p[0], 4);
    enum store_result result = STORE_DONE;
    int64_t acknowledged = 0;
    make_rows(rows, MANY);
    add_by(s, rows, BUSY, BUSY);
    for (size_t i = BUSY; i < MANY && result == STORE_DONE; i += 10) {
        struct row *list[10];
        for (size_t k = 0; k < 10; k++) {
            list[k] = &rows[i + k];
            list[k]->body = large;
            list[k]->body_bytes = sizeof large;
        }
        result = store_add(s, list, 10);
        for (size_t k = 0; k < 10; k++) {
            acknowledged += list[k]->outcome == ROW_STORED;
        }
    }
    assert_int_equal(result, STORE_FULL);
    assert_true(acknowledged > 0);
    const int64_t before = ask(&p[0], "SELECT count(*) FROM report");
    store_close(s);
    assert_true(ask(&p[0], "SELECT count(*) FROM arrived") > 0);
    store_close(open_store(&p[0]));
    assert_int_equal(ask(&p[0], "SELECT count(*) FROM arrived"), 0);
    assert_int_equal(ask(&p[0], "SELECT count(*) FROM report"), before + acknowledged);
    free(rows);
}

/* As on a full disk, with a new report for each that was refused. */
static void transactions_that_fail_keep_no_memory(void **state) {
    const struct place *p = *state;
    struct row *rows = calloc(MANY, sizeof *rows), *list[BUSY];
    struct problem why;
    struct sqlite *s = sqlite_open(p[0].file, 0, &why);
    assert_non_null(s);
    make_rows(rows, MANY);
    for (int i = 0; i < BUSY; i++) {
        list[i] = &rows[i];
    }
    sqlite_add(s, list, BUSY);
    change(&p[0], "CREATE TRIGGER no BEFORE INSERT ON arrived WHEN NEW.id = 'bad' BEGIN"
                  " SELECT RAISE(ABORT, 'no'); END");
    for (int batch = 0; batch < 9; batch++) {
        for (int i = 0; i < BUSY; i++) {
            snprintf(rows[i].id, sizeof rows[i].id, "%d-%d", batch, i);
        }
        snprintf(rows[BUSY - 1].id, sizeof rows[0].id, "bad");
        sqlite_add(s, list, BUSY);
        assert_in_range(s->arrived.count, 0, 5 * BUSY);
    }
    sqlite_close(s);
    free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_batch_adds_up_as_single_reports_do, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_report_counts_once_in_its_batch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_transaction_that_fails_adds_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_store_settles_what_arrived, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_arrived_before_a_kill_is_there_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_store_says_what_it_has, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_busy_store_keeps_what_it_acknowledged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(transactions_that_fail_keep_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
