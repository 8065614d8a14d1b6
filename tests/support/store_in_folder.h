/* SPDX-License-Identifier: MIT
 *
 * For tests of the SQLite store: one in a folder of its own, and reports for it. Included after cmocka.h.
 */
#ifndef TEST_STORE_IN_FOLDER_H
#define TEST_STORE_IN_FOLDER_H

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/built_in.h"
#include "collector/store/store.h"
#include "folder.h"

struct store_in_folder {
    char folder[64], file[96];
    struct store *store;
    json_t *schema;
};

static inline int store_set_up(void **state) {
    struct store_in_folder *p = calloc(1, sizeof *p);
    struct problem why;
    assert_non_null(p);
    snprintf(p->folder, sizeof p->folder, "/tmp/hangdog-test-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->file, sizeof p->file, "%s/store.db", p->folder);
    p->store = store_open(&(struct store_place){.url = p->file}, &why);
    assert_non_null(p->store);
    p->schema = built_in_schema();
    *state = p;
    return 0;
}

static inline int store_tear_down(void **state) {
    struct store_in_folder *p = *state;
    store_close(p->store);
    json_decref(p->schema);
    int status = folder_remove(p->folder);
    free(p);
    return status;
}

/* The first column of the first row. */
static inline int64_t store_file_number(const char *file, const char *sql) {
    sqlite3 *db;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return number;
}

static inline int64_t store_number(const struct store_in_folder *p, const char *sql) {
    return store_file_number(p->file, sql);
}

static inline void store_file_change(const char *file, const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static inline void store_change(const struct store_in_folder *p, const char *sql) {
    store_file_change(p->file, sql);
}

#define STORE_SUMS_BYTES ((size_t)1 << 20)

/* All rows of the tables of sums, users and ways as text; the caller frees it. */
static inline char *store_file_sums(const char *file) {
    static const char *const tables[] = {
        "grouped",    "group_day",   "group_version", "group_system", "group_duration",
        "app_day",    "app_version", "version_day",   "group_label",  "group_origin",
        "app_origin", "user",        "way",           "unnamed"};
    const size_t of_two_columns = 11; /* from here on */
    sqlite3 *db;
    char *text = malloc(STORE_SUMS_BYTES), sql[128];
    size_t used = 0;
    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    text[0] = '\0';
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        sqlite3_stmt *q;
        snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY 1, 2%s", tables[i],
                 i < of_two_columns ? ", 3, 4" : "");
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
        while (sqlite3_step(q) == SQLITE_ROW) {
            used += (size_t)snprintf(text + used, STORE_SUMS_BYTES - used, "%s:", tables[i]);
            for (int c = 0; c < sqlite3_column_count(q); c++) {
                used += (size_t)snprintf(text + used, STORE_SUMS_BYTES - used, " %s=%s",
                                         sqlite3_column_name(q, c), (const char *)sqlite3_column_text(q, c));
            }
            used += (size_t)snprintf(text + used, STORE_SUMS_BYTES - used, "\n");
            assert_true(used < STORE_SUMS_BYTES);
        }
        sqlite3_finalize(q);
    }
    sqlite3_close(db);
    return text;
}

/* A hang of `ms` in the frame {FRAME}, in the run of this user. row_free frees it. */
static inline void store_row(const struct store_in_folder *p, struct row *row, unsigned number,
                             const char *user, int ms, const char *frame) {
    char text[2048];
    struct schema_fault fault;
    snprintf(text, sizeof text,
             "{\"format\":\"hangdog-report/1\",\"id\":\"00000000-0000-7000-8000-%012u\",\"kind\":\"hang\","
             "\"complete\":true,\"started_at\":\"2026-01-31T12:00:%02uZ\",\"duration_ns\":%d000000,"
             "\"app\":{\"name\":\"shop\",\"version\":\"1\",\"pid\":7,\"session\":\"%s\",\"install\":\"%s\"},"
             "\"host\":{\"os\":\"linux\",\"arch\":\"x86_64\"},\"process\":{},\"cause\":{\"kind\":\"cpu\"},"
             "\"modules\":[{\"path\":\"/opt/shop\",\"base\":\"0x1000\",\"size\":4096,"
             "\"build_id\":\"abcdef0123456789\"}],"
             "\"hot_stack\":{\"frames\":[{\"pc\":\"0x1010\",\"module\":0,\"offset\":\"0x10\"%s}]}}",
             number, number % 60, ms, user, user, frame);
    if (!row_make(text, strlen(text), p->schema, row, &fault)) {
        fail_msg("%s %s", fault.at, fault.reason);
    }
}

static inline void store_add_one(const struct store_in_folder *p, unsigned number, const char *user, int ms,
                                 const char *frame) {
    struct row row, *rows[] = {&row};
    store_row(p, &row, number, user, ms, frame);
    assert_int_equal(store_add(p->store, rows, 1), STORE_DONE);
    assert_int_equal(row.outcome, ROW_STORED);
    row_free(&row);
}

#define STORE_NO_NAME ""
#define STORE_NAMED(name) ",\"function\":\"" name "\""
#define STORE_BUILD "abcdef0123456789"

#endif
