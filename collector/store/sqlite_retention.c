/* SPDX-License-Identifier: MIT
 *
 * Old reports go, and their room is given back to the disk. Runs on the writer's thread, in small pieces: it
 * takes no longer than a commit between two.
 */
#include <stdio.h>
#include <time.h>

#include "collector/store/sqlite_private.h"

#define FREED_PAGES "2000"
#define A_DAY "86400000"
/* Among so many rows is the first one behind those of a wrong clock; else these count as new. */
#define NEXT_ROWS "2000"
#define WAITING_OF_A_STEP "2000" /* more than the reports of a step can have had */

/* One statement with the moment as ?1 and the limit as ?2; the rows that it changed, -1: it failed. */
static long remove_by(struct sqlite *s, const char *sql, int64_t before, long max) {
    sqlite3_stmt *q = NULL;
    long removed = -1;
    if (sqlite3_prepare_v2(s->writes, sql, -1, &q, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(q, 1, before);
        if (sqlite3_bind_parameter_count(q) > 1) {
            sqlite3_bind_int64(q, 2, max);
        }
        if (sqlite3_step(q) == SQLITE_DONE) {
            removed = sqlite3_changes(s->writes);
        }
    }
    sqlite3_finalize(q);
    return removed;
}

static bool remove_of_no_group(struct sqlite *s, const char *table) {
    char sql[160];
    snprintf(sql, sizeof sql, "DELETE FROM %s WHERE fingerprint NOT IN (SELECT fingerprint FROM grouped)",
             table);
    return remove_by(s, sql, 0, 0) >= 0;
}

/* Sums of days go with their age, those of a group with its last report. */
static bool remove_sums(struct sqlite *s, int64_t before_ms) {
    int64_t day = before_ms / DAY_MS;
    return remove_by(s,
                     "DELETE FROM group_day WHERE day < ?1 AND NOT EXISTS (SELECT 1 FROM report r WHERE"
                     " r.grouped = group_day.fingerprint AND r.started_ms >= group_day.day * 86400000"
                     " AND r.started_ms < (group_day.day + 1) * 86400000)",
                     day, 0) >= 0 &&
           remove_by(s, "DELETE FROM app_day WHERE day < ?1", day, 0) >= 0 &&
           remove_by(s, "DELETE FROM version_day WHERE day < ?1", day, 0) >= 0 &&
           remove_by(s, "DELETE FROM app_version WHERE last_ms < ?1", before_ms, 0) >= 0 &&
           remove_by(s, "DELETE FROM app_origin WHERE last_ms < ?1", before_ms, 0) >= 0 &&
           remove_by(s,
                     "DELETE FROM grouped WHERE last_ms < ?1 AND NOT EXISTS"
                     " (SELECT 1 FROM report r WHERE r.grouped = grouped.fingerprint)",
                     before_ms, 0) >= 0 &&
           remove_of_no_group(s, "user") && remove_of_no_group(s, "group_day") &&
           remove_of_no_group(s, "group_version") && remove_of_no_group(s, "group_system") &&
           remove_of_no_group(s, "group_duration") && remove_of_no_group(s, "group_label") &&
           remove_of_no_group(s, "group_origin");
}

static void copy_text(char to[UNNAMED_ID_BYTES], sqlite3_stmt *q, int column) {
    snprintf(to, UNNAMED_ID_BYTES, "%s", (const char *)sqlite3_column_text(q, column));
}

/* The last row of the next piece of the table `unnamed`; after its end, a row behind all of them. */
static void find_piece(struct sqlite *s, struct unnamed_at *last) {
    sqlite3_stmt *q = NULL;
    *last = (struct unnamed_at){.build_id = "~"};
    if (sqlite3_prepare_v2(s->writes,
                           "SELECT build_id, report FROM unnamed WHERE (build_id, report) > (?1, ?2)"
                           " ORDER BY build_id, report LIMIT 1 OFFSET " WAITING_OF_A_STEP,
                           -1, &q, NULL) == SQLITE_OK) {
        sqlite_bind(q, "ss", s->swept.build_id, s->swept.report);
        if (sqlite3_step(q) == SQLITE_ROW) {
            copy_text(last->build_id, q, 0);
            copy_text(last->report, q, 1);
        }
    }
    sqlite3_finalize(q);
}

/* A report that is gone waits for no debug file. The table has no index by report: each step looks at the
 * next piece of it, and after the last piece at the first one. */
static bool remove_waiting(struct sqlite *s) {
    struct unnamed_at last;
    sqlite3_stmt *q = NULL;
    find_piece(s, &last);
    bool done = sqlite3_prepare_v2(s->writes,
                                   "DELETE FROM unnamed WHERE (build_id, report) > (?1, ?2)"
                                   " AND (build_id, report) <= (?3, ?4) AND NOT EXISTS"
                                   " (SELECT 1 FROM report WHERE id = unnamed.report)",
                                   -1, &q, NULL) == SQLITE_OK;
    if (done) {
        sqlite_bind(q, "ssss", s->swept.build_id, s->swept.report, last.build_id, last.report);
        done = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    s->swept = last.report[0] != '\0' ? last : (struct unnamed_at){0};
    return done;
}

/* Of the first ?2 rows those whose time is to come: another clock gave it. They get that of the next row,
 * which came after them, else ?1, the present. To keep it would keep all rows behind them, too. */
static bool mend_future(struct sqlite *s, long max) {
    const int64_t now_ms = (int64_t)time(NULL) * 1000;
    return remove_by(
               s,
               "UPDATE report SET received_ms = coalesce((SELECT n.received_ms FROM (SELECT received_ms,"
               " rowid FROM report ORDER BY rowid LIMIT " NEXT_ROWS ") n WHERE n.received_ms <= ?1 + " A_DAY
               " AND n.rowid > report.rowid ORDER BY n.rowid LIMIT 1), ?1) WHERE rowid IN"
               " (SELECT rowid FROM report ORDER BY rowid LIMIT ?2) AND received_ms > ?1 + " A_DAY,
               now_ms, max) >= 0;
}

/* Rows have their numbers in the order in which they came: none is older than one before it, also where its
 * time says so. */
static long remove_reports(struct sqlite *s, int64_t before_ms, long max) {
    long removed =
        !mend_future(s, max)
            ? -1
            : remove_by(s,
                        "WITH first AS (SELECT rowid AS n, received_ms FROM report ORDER BY rowid"
                        " LIMIT ?2) DELETE FROM report WHERE rowid IN (SELECT n FROM first WHERE n <"
                        " coalesce((SELECT min(n) FROM first WHERE received_ms >= ?1), 1 << 62))",
                        before_ms, max);
    s->has_old_sums = s->has_old_sums || removed > 0;
    if (removed >= 0 && removed < max && s->has_old_sums) {
        s->has_old_sums = !remove_sums(s, before_ms);
        removed = s->has_old_sums ? -1 : removed;
    }
    return removed;
}

int64_t sqlite_about_reports(void *file) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->writing);
    int64_t count = sqlite_number(s->writes, "SELECT coalesce((SELECT max(rowid) FROM report) -"
                                             " (SELECT min(rowid) FROM report) + 1, 0)");
    pthread_mutex_unlock(&s->writing);
    return count;
}

long sqlite_remove_old(void *file, int64_t before_ms, long max) {
    struct sqlite *s = file;
    long removed = -1;
    pthread_mutex_lock(&s->writing);
    sqlite_try_to_settle(s);
    if (sqlite_run(s->writes, "BEGIN IMMEDIATE")) {
        removed = remove_reports(s, before_ms, max);
        removed = removed >= 0 && remove_waiting(s) && sqlite_run(s->writes, "COMMIT") ? removed : -1;
    }
    if (removed < 0) {
        snprintf(s->error, sizeof s->error, "%s", sqlite3_errmsg(s->writes));
        sqlite_run(s->writes, "ROLLBACK");
    } else if (removed > 0) {
        sqlite_run(s->writes, "PRAGMA incremental_vacuum(" FREED_PAGES ")");
    }
    pthread_mutex_unlock(&s->writing);
    return removed;
}
