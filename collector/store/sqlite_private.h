/* SPDX-License-Identifier: MIT
 *
 * Types and functions that the parts of the SQLite store share: open, tables, writes, reads, keys and
 * settings.
 */
#ifndef COLLECTOR_STORE_SQLITE_PRIVATE_H
#define COLLECTOR_STORE_SQLITE_PRIVATE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "collector/store/sqlite.h"
#include "collector/store/state_backend.h"
#include "collector/store/store_backend.h"
#include "collector/store/sums.h"

/* The kinds of reports whose duration counts as time hung. */
#define HANG_KINDS "IN ('hang', 'launch', 'background-hang', 'fatal-hang')"
#define DAY_MS INT64_C(86400000)
/* 2^52 ms: a page can add up two thousand such sums. A larger number would be no integer, and its row
 * refused. */
#define SUM_MAX "4503599627370496"
#define SUM_LIMIT INT64_C(4503599627370496)

/* A query's part: app_day from day ?2 on, of app ?1 or of all. An app's days stand together in it. */
#define OF_APP_DAY                                                                                \
    " FROM app_day WHERE app IN (SELECT DISTINCT app FROM app_version WHERE ?1 = '' OR app = ?1)" \
    " AND day >= ?2"

/* The log's size before its pages go into the file: 31 MiB. A busy store writes the same
 * pages of indexes again and again. A larger log makes these writes rarer. */
#define WAL_PAGES 8000
#define WAL_PAGES_BUSY 32000

/* The group's table has a row of this label; else the row of the label "" has its reports. */
#define SQLITE_HAS_LABEL(group, name) \
    "EXISTS (SELECT 1 FROM group_label WHERE fingerprint = " group " AND label = " name ")"

/* The same of a host, unit, container or image: `key` is the first column of `table`. */
#define SQLITE_HAS_ORIGIN(table, key, value, part_, name_)                              \
    "EXISTS (SELECT 1 FROM " table " o WHERE o." key " = " value " AND o.part = " part_ \
    " AND o.name = " name_ ")"
/* Under which names the table counts report ?1. */
#define SQLITE_ORIGINS_OF_REPORT(table, key, value)                                                \
    "(part, name) IN (SELECT p.part, iif(" SQLITE_HAS_ORIGIN(                                      \
        table, key, value, "p.part",                                                               \
        "p.name") ", p.name, '')"                                                                  \
                  " FROM (SELECT 'host' AS part, host AS name FROM report WHERE id = ?1 UNION ALL" \
                  " SELECT 'unit', unit FROM report WHERE id = ?1 UNION ALL"                       \
                  " SELECT 'container', container FROM report WHERE id = ?1 UNION ALL"             \
                  " SELECT 'image', image FROM report WHERE id = ?1) p WHERE p.name <> '')"

enum statement {
    ADD_REPORT,
    FIND_REPORT,
    ADD_ARRIVED,
    ALL_ARRIVED,
    FIND_REPEATED,
    FIND_ALIKE,
    FIND_VERSION,
    ADD_GROUP,
    FIND_WAY,
    FIND_FAMILY,
    ADD_WAY,
    SHOW_GROUP,
    COUNT_GROUP,
    ADD_USER,
    ADD_GROUP_DAY,
    ADD_GROUP_VERSION,
    ADD_GROUP_SYSTEM,
    ADD_GROUP_LABEL,
    ADD_GROUP_ORIGIN,
    ADD_GROUP_DURATION,
    ADD_APP_DAY,
    ADD_VERSION_DAY,
    ADD_APP_VERSION,
    ADD_APP_ORIGIN,
    STATEMENTS
};

/* A row of the table `unnamed`. */
struct unnamed_at {
    char build_id[UNNAMED_ID_BYTES], report[UNNAMED_ID_BYTES];
};

struct sqlite {
    sqlite3 *writes, *reads;
    sqlite3_stmt *statement[STATEMENTS];
    pthread_mutex_t writing, reading;
    struct sums arrived;         /* ids of the reports in `arrived` */
    atomic_size_t arrived_count; /* how many: a reader looks without the lock */
    int64_t arrived_second, second;
    size_t rows_now, rows_before; /* that came in this second, and in the one before */
    struct sums sums;             /* of the writing connection's transaction, not yet in its tables */
    bool has_old_sums;            /* reports were removed since the sums were */
    struct unnamed_at swept;      /* up to here no row is of a removed report */
    char error[256];
};

/* ---- of the writing connection; the caller has the lock `writing` ---- */
bool sqlite_run(sqlite3 *db, const char *sql);
/* The first column of the first row; -1: there is none. */
int64_t sqlite_number(sqlite3 *db, const char *sql);
/* Applies the steps that the file lacks. False: *why says it. */
bool sqlite_tables_renew(sqlite3 *db, const char *path, struct problem *why);
enum store_result sqlite_add(void *file, struct row *const *rows, size_t count);
/* Puts the report into its tables, indexes and sums, and sets its outcome. */
bool sqlite_add_row(struct sqlite *s, struct row *row);
/* ROLLBACK, with the reason kept for sqlite_error. */
enum store_result sqlite_note_error(struct sqlite *s);
/* Reports of a busy store, sqlite_arrived.c. Busy: many came of late; `count` more come now. */
bool sqlite_is_busy(struct sqlite *s, size_t count);
bool sqlite_append(struct sqlite *s, struct row *row);
/* For a failed transaction. Call before the outcomes of the rows change. */
void sqlite_forget_arrived(struct sqlite *s, struct row *const *rows, size_t count);
bool sqlite_is_settling_due(const struct sqlite *s);
/* False: it failed, and the transaction waits for ROLLBACK. */
bool sqlite_settle_arrived(struct sqlite *s);
/* Where it fails, as on a full disk, they wait for the next time. */
void sqlite_try_to_settle(struct sqlite *s);
void sqlite_load_arrived(struct sqlite *s);
/* Counts it in its group. */
bool sqlite_count_row(struct sqlite *s, const struct row *row);
bool sqlite_add_unnamed(struct sqlite *s, const struct row *row);
enum store_result sqlite_replace(void *file, struct row *row);
/* Subtracts the report from the sums and users of the group. Removes a group without reports. */
bool sqlite_uncount(struct sqlite *s, const char *id, const char *group, const char *who);
long sqlite_erase(void *file, const struct store_erasure *what, const json_t *schema, int64_t *at, long rows);
bool sqlite_end_unnamed(void *file, const char *build_id, const char *id);
long sqlite_remove_old(void *file, int64_t before_ms, long max);
int64_t sqlite_about_reports(void *file);
const char *sqlite_error(const void *file);

/* The parts of adding a report; false: the store failed. */
bool sqlite_group_as_repeated(struct sqlite *s, struct row *row);
bool sqlite_add_group(struct sqlite *s, const struct row *row);
bool sqlite_count_user(struct sqlite *s, const struct row *row);
bool sqlite_count_report(struct sqlite *s, const struct row *row);
/* Stores in memory a report's part in the sums of group, app and version. The transaction's end needs
 * sqlite_write_sums before COMMIT, and sqlite_forget_sums after ROLLBACK. */
bool sqlite_add_sums(struct sqlite *s, const struct row *row);
bool sqlite_write_sums(struct sqlite *s);
void sqlite_forget_sums(struct sqlite *s);
/* The transaction's sums for a row of a table, made if missing. NULL: no memory. */
struct sum *sqlite_sum(struct sqlite *s, enum statement which, const char *a, const char *b);
/* A report's part in the sums of a group: stored in memory for a later addition, or subtracted from those of
 * `old` at once. */
bool sqlite_add_group_sums(struct sqlite *s, const struct row *row);
bool sqlite_take_group_sums(struct sqlite *s, const char *old, const struct row *row);
sqlite3_stmt *sqlite_statement(struct sqlite *s, enum statement which);
/* Runs the statement to its end, and resets it for the next time. */
bool sqlite_done(sqlite3_stmt *q);
/* One of the prepared statements with its values, as sqlite_bind takes them. */
bool sqlite_add_sum(struct sqlite *s, enum statement which, const char *types, ...);

/* ---- of the reading connection; the caller has the lock `reading` ---- */
/* Takes the lock `reading`, with all that arrived in its tables. The caller has no lock. */
void sqlite_start_reading(struct sqlite *s);
void sqlite_settle(void *file);
/* Prepares a query; NULL: it failed. */
sqlite3_stmt *sqlite_query(struct sqlite *s, const char *sql);

/* A value for each ? of a query, in order: 's' a text (const char *), 'i' a number (int64_t). */
void sqlite_bind(sqlite3_stmt *q, const char *types, ...);
/* An object of the row that the query is at: a member for each column, by its name. */
json_t *sqlite_row(sqlite3_stmt *q);
/* An array of such objects. Ends the query. */
json_t *sqlite_rows(sqlite3_stmt *q);
/* The query with its values, its rows. */
json_t *sqlite_select(struct sqlite *s, const char *sql, const char *types, ...);

int sqlite_unnamed(void *file, const char *build_id, char (*ids)[ROW_ID_CHARS + 1], int max);
/* The first of the days that a page shows. */
int64_t sqlite_first_day(int days);
/* Since then a group is new. */
int64_t sqlite_new_ms(void);
json_t *sqlite_apps(struct sqlite *s);
/* The members `groups`, `days` and `totals`. The caller has the lock `reading`. */
void sqlite_add_groups(struct sqlite *s, const struct store_group_filter *filter, json_t *page);
json_t *sqlite_overview(void *file, const struct store_group_filter *filter);
json_t *sqlite_groups(void *file, const struct store_group_filter *filter);
json_t *sqlite_versions(void *file, const char *app);
json_t *sqlite_origins(void *file, const struct store_origin_filter *filter);
/* The number of hosts, and of units, in which the app, or any app, ran since this day. */
void sqlite_add_origin_counts(struct sqlite *s, const char *app, int64_t day, json_t *page);
/* The members hosts, units, containers and images of a group, and how many hosts it has. */
void sqlite_add_origins(struct sqlite *s, const char *fingerprint, json_t *group);
json_t *sqlite_group(void *file, const char *fingerprint);
json_t *sqlite_kinds(void *file, const char *app, int days);
json_t *sqlite_compare(void *file, const char *app, const char *from, const char *to);
json_t *sqlite_search(void *file, const char *words, const char *app, long offset);
json_t *sqlite_counts(void *file);
json_t *sqlite_reports(void *file, const struct store_filter *filter);
void *sqlite_report_body(void *file, const char *id, size_t *bytes);
void sqlite_each_report(void *file, const struct store_filter *filter,
                        void (*take)(void *to, const char *text, size_t bytes), void *to);
void sqlite_find_regressed(void *file, struct store_mark *marks, size_t count);

/* ---- keys, settings and issues: as the members of state_backend.h ---- */
int sqlite_keys(void *file, struct store_key *keys, int max);
int64_t sqlite_add_key(void *file, enum key_use use, const char *app, const uint8_t hash[SHA256_BYTES]);
enum store_found sqlite_remove_key(void *file, int64_t id);
bool sqlite_count_key(void *file, int64_t id, int64_t used_ms, int64_t day, int64_t reports);

/* ---- sqlite_group.c, sqlite_regroup.c: on the writing connection, in its transaction; the caller has the
 * lock `writing` ---- */

/* Sets the row's fingerprint to that of a group with reports of the same bug in other builds, else to the
 * row's own. False: the store failed. */
bool sqlite_group_find(struct sqlite *s, struct row *row);

/* As store_regroup of store.h. */
long sqlite_regroup(void *file, const json_t *schema, long max);

#endif
