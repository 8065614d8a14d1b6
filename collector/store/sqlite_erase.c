/* SPDX-License-Identifier: MIT
 *
 * Takes reports out of the store for good, with their part of each sum: one report, those of an app, those of
 * a user. Runs on any thread, between two transactions of the writer, a piece of the table at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/sqlite_private.h"

#define OF_REPORT " = (SELECT "
#define OF(column) column OF_REPORT column " FROM report WHERE id = ?1)"
#define LESS \
    " SET count = count - 1, total_ms = max(0, total_ms - (SELECT duration_ms FROM report WHERE id = ?1))"
#define IS_HANG " AND EXISTS (SELECT 1 FROM report WHERE id = ?1 AND kind " HANG_KINDS ")"
#define DAY "day = (SELECT started_ms / 86400000 FROM report WHERE id = ?1)"
#define OF_ORIGIN " WHERE " OF("app") " AND " SQLITE_ORIGINS_OF_REPORT("app_origin", "app", "app_origin.app")
#define OF_VERSION " WHERE " OF("app") " AND version = ?2"

/* Subtracts report ?1, counted under version ?2, from the app's sums. In app_day runs are counted as
 * `session`. */
static const char *const uncount_hang[] = {
    "UPDATE app_day" LESS " WHERE " OF("app") " AND " OF("kind") " AND " DAY,
    "UPDATE version_day" LESS OF_VERSION " AND " DAY IS_HANG, "UPDATE app_version" LESS OF_VERSION IS_HANG,
    "UPDATE app_origin" LESS OF_ORIGIN IS_HANG, NULL};
static const char *const uncount_run[] = {
    "UPDATE app_day SET count = count - 1, total_ms = max(0, total_ms - ?3), hang_free = max(0, hang_free - ?4)"
    " WHERE " OF("app") " AND kind = 'session' AND " DAY,
    "UPDATE version_day SET used_ms = max(0, used_ms - ?3)" OF_VERSION " AND " DAY,
    "UPDATE app_version SET runs = runs - 1, used_ms = max(0, used_ms - ?3)" OF_VERSION,
    "UPDATE app_origin SET runs = runs - 1, used_ms = max(0, used_ms - ?3)" OF_ORIGIN, NULL};
/* Then the report itself; the note of a group without reports goes with it. */
static const char *const remove_report[] = {
    "DELETE FROM app_day WHERE " OF("app") " AND count <= 0",
    "DELETE FROM version_day WHERE " OF("app") " AND count <= 0 AND used_ms <= 0",
    "DELETE FROM app_version WHERE " OF(
        "app") " AND count <= 0 AND runs <= 0 AND NOT EXISTS"
               " (SELECT 1 FROM version_day v WHERE v.app = app_version.app AND v.version = app_version.version)",
    "DELETE FROM app_origin WHERE " OF("app") " AND count <= 0 AND runs <= 0",
    "DELETE FROM report WHERE id = ?1",
    NULL};

static bool run_all(struct sqlite *s, const char *const *sql, const struct row *row, const char *version) {
    bool done = true;
    for (; done && *sql != NULL; sql++) {
        sqlite3_stmt *q = NULL;
        done = sqlite3_prepare_v2(s->writes, *sql, -1, &q, NULL) == SQLITE_OK;
        if (done) {
            const int places = sqlite3_bind_parameter_count(q);
            sqlite3_bind_text(q, 1, row->id, -1, SQLITE_STATIC);
            if (places >= 2) {
                sqlite3_bind_text(q, 2, version, -1, SQLITE_STATIC);
            }
            if (places >= 3) {
                sqlite3_bind_int64(q, 3, row->used_ms);
            }
            if (places >= 4) {
                sqlite3_bind_int(q, 4, row->hang_free);
            }
            done = sqlite3_step(q) == SQLITE_DONE;
        }
        sqlite3_finalize(q);
    }
    return done;
}

/* A run without a version is counted under the version of the run's hangs. */
static void version_of(struct sqlite *s, const struct row *row, char *version, size_t size) {
    sqlite3_stmt *q = row->is_session && row->version[0] == '\0' ? sqlite_statement(s, FIND_VERSION) : NULL;
    snprintf(version, size, "%s", row->version);
    if (q != NULL) {
        sqlite3_bind_text(q, 1, row->session, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 2, row->app, -1, SQLITE_STATIC);
        if (sqlite3_step(q) == SQLITE_ROW) {
            snprintf(version, size, "%s", (const char *)sqlite3_column_text(q, 0));
        }
        sqlite3_reset(q);
    }
}

/* Removes people's notes about a group together with the group's last report. */
static bool forget_group(struct sqlite *s, const char *group) {
    sqlite3_stmt *q = NULL;
    bool done = sqlite3_prepare_v2(s->writes,
                                   "DELETE FROM issue WHERE fingerprint = ?1 AND NOT EXISTS"
                                   " (SELECT 1 FROM grouped WHERE fingerprint = ?1)",
                                   -1, &q, NULL) == SQLITE_OK;
    if (done) {
        sqlite3_bind_text(q, 1, group, -1, SQLITE_STATIC);
        done = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    return done;
}

static bool erase_one(struct sqlite *s, const struct row *row, const char *group) {
    char version[sizeof row->version];
    version_of(s, row, version, sizeof version);
    return (group[0] == '\0' || (sqlite_uncount(s, row->id, group, row->who) && forget_group(s, group))) &&
           run_all(s, row->is_session ? uncount_run : uncount_hang, row, version) &&
           run_all(s, remove_report, row, version);
}

#define COLUMNS "rowid, id, coalesce(grouped, ''), kind, app, version, session, duration_ms, body"
enum {
    ID = 1,
    GROUPED,
    KIND,
    APP,
    VERSION,
    SESSION,
    DURATION_MS,
    BODY
};

static void copy_column(char *to, size_t size, sqlite3_stmt *q, int column) {
    snprintf(to, size, "%s", (const char *)sqlite3_column_text(q, column));
}

/* Only the body has the user, the time of use and the hangs of a run. This version may refuse a body that an
 * earlier one accepted. Then the report is erased all the same, and the run counts as a user. */
static void read_body(sqlite3_stmt *q, const json_t *schema, struct row *row) {
    struct row read;
    struct schema_fault fault;
    size_t bytes = 0;
    char *text = row_text(sqlite3_column_blob(q, BODY), (size_t)sqlite3_column_bytes(q, BODY), &bytes);
    if (text == NULL) {
        return;
    }
    if (row_make(text, bytes, schema, &read, &fault)) {
        memcpy(row->who, read.who, sizeof row->who);
        row->used_ms = read.used_ms;
        row->hang_free = read.hang_free;
    }
    row_free(&read);
    free(text);
}

/* Reads the values under which the report was counted from its columns, since another version may read the
 * body in another way. */
static void read_row(sqlite3_stmt *q, const json_t *schema, struct row *row) {
    memset(row, 0, sizeof *row);
    copy_column(row->id, sizeof row->id, q, ID);
    copy_column(row->kind, sizeof row->kind, q, KIND);
    copy_column(row->app, sizeof row->app, q, APP);
    copy_column(row->version, sizeof row->version, q, VERSION);
    copy_column(row->session, sizeof row->session, q, SESSION);
    copy_column(row->who, sizeof row->who, q, SESSION);
    row->is_session = strcmp(row->kind, "session") == 0;
    row->used_ms = row->is_session ? sqlite3_column_int64(q, DURATION_MS) : 0;
    read_body(q, schema, row);
}

/* The row that the query is at, where it is one of those that are to go. -1: it failed. */
static int erase_row(struct sqlite *s, sqlite3_stmt *q, const struct store_erasure *what,
                     const json_t *schema) {
    struct row row;
    char group[GROUPING_HEX + 1];
    copy_column(group, sizeof group, q, GROUPED);
    read_row(q, schema, &row);
    if (what->user != NULL && strcmp(row.who, what->user) != 0) {
        return 0;
    }
    return erase_one(s, &row, group) ? 1 : -1;
}

/* The rows of the next piece: all places are bound, NULL where they do not matter. */
static sqlite3_stmt *next_piece(struct sqlite *s, const struct store_erasure *what, int64_t at, long rows) {
    static const char of_one[] = "SELECT " COLUMNS " FROM report WHERE id = ?1 AND ?2 < ?3";
    static const char of_many[] = "SELECT " COLUMNS " FROM report NOT INDEXED WHERE"
                                  " (?1 IS NULL OR app = ?1) AND rowid > ?2 AND rowid <= ?3";
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->writes, what->id != NULL ? of_one : of_many, -1, &q, NULL) == SQLITE_OK) {
        sqlite3_bind_text(q, 1, what->id != NULL ? what->id : what->app, -1, SQLITE_STATIC);
        sqlite3_bind_int64(q, 2, at);
        sqlite3_bind_int64(q, 3, at + rows);
    }
    return q;
}

static long erase_piece(struct sqlite *s, const struct store_erasure *what, const json_t *schema, int64_t at,
                        long rows) {
    long erased = 0;
    int one = 0, step = SQLITE_ERROR;
    sqlite3_stmt *q = next_piece(s, what, at, rows);
    while (q != NULL && one >= 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
        one = erase_row(s, q, what, schema);
        erased += one;
    }
    sqlite3_finalize(q);
    return one < 0 || step != SQLITE_DONE ? -1 : erased;
}

long sqlite_erase(void *file, const struct store_erasure *what, const json_t *schema, int64_t *at,
                  long rows) {
    struct sqlite *s = file;
    long erased = -1;
    pthread_mutex_lock(&s->writing);
    sqlite_try_to_settle(s);
    /* Overwrites free pages, so that the file has no data that a person wanted erased. */
    if (sqlite_run(s->writes, "PRAGMA secure_delete = ON; BEGIN IMMEDIATE")) {
        erased = erase_piece(s, what, schema, *at, rows);
        erased = erased >= 0 && sqlite_run(s->writes, "COMMIT") ? erased : -1;
    }
    if (erased < 0) {
        sqlite_note_error(s);
    } else {
        *at = what->id != NULL ? INT64_MAX : *at + rows;
        if (*at >= sqlite_number(s->writes, "SELECT coalesce(max(rowid), 0) FROM report")) {
            *at = -1;
        }
        if (erased > 0) {
            sqlite_run(s->writes, "PRAGMA incremental_vacuum(2000)");
        }
    }
    sqlite_run(s->writes, "PRAGMA secure_delete = OFF");
    pthread_mutex_unlock(&s->writing);
    return erased;
}
