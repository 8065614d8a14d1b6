/* SPDX-License-Identifier: MIT
 *
 * What the parts of the SQLite store share: opening, tables, writing, reading, keys and settings.
 */
#ifndef COLLECTOR_STORE_SQLITE_PRIVATE_H
#define COLLECTOR_STORE_SQLITE_PRIVATE_H

#include <pthread.h>
#include <sqlite3.h>

#include "collector/store/sqlite.h"
#include "collector/store/store_backend.h"

enum statement {
    ADD_REPORT,
    FIND_REPEATED,
    FIND_ALIKE,
    FIND_VERSION,
    ADD_GROUP,
    COUNT_GROUP,
    ADD_USER,
    COUNT_USER,
    ADD_HOUR,
    ADD_USAGE,
    STATEMENTS
};

struct sqlite {
    sqlite3 *writes, *reads;
    sqlite3_stmt *statement[STATEMENTS];
    pthread_mutex_t writing, reading;
    bool has_old_sums; /* reports were removed since the sums were */
    char error[256];
};

/* ---- of the writing connection; the caller has the lock `writing` ---- */
bool sqlite_run(sqlite3 *db, const char *sql);
/* The first column of the first row; -1: there is none. */
int64_t sqlite_number(sqlite3 *db, const char *sql);
/* Applies the steps that the file lacks. False: *why says it. */
bool sqlite_tables_renew(sqlite3 *db, const char *path, struct problem *why);
enum store_result sqlite_add(void *file, struct row *const *rows, size_t count);
long sqlite_remove_old(void *file, int64_t before_ms, long max);
const char *sqlite_error(const void *file);

/* ---- of the reading connection; the caller has the lock `reading` ---- */
/* Prepares a query; NULL: it failed. */
sqlite3_stmt *sqlite_query(struct sqlite *s, const char *sql);

json_t *sqlite_overview(void *file, const char *app, int days);
json_t *sqlite_group(void *file, const char *fingerprint);
json_t *sqlite_counts(void *file);
char *sqlite_report(void *file, const char *id, size_t *bytes);
void sqlite_each_report(void *file, const char *fingerprint, int max,
                        void (*take)(void *to, const char *text, size_t bytes), void *to);

#endif
