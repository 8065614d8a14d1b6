/* SPDX-License-Identifier: MIT
 *
 * Groups all reports again, a batch a transaction. The setting "regroup" has the progress: "PASS ROW".
 * Reports with all functions come first, since
 * the others are compared with them. Brief repeats come last, since each gets the group of the repeated
 * report.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/sqlite_private.h"

enum pass {
    WHOLE,
    PARTIAL,
    BRIEF,
    PASSES
};

struct place {
    int pass;
    long long row;
};

static bool keep_place(struct sqlite *s, const struct place *at) {
    char sql[160];
    snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO setting VALUES('regroup', '%d %lld')", at->pass,
             at->row);
    return sqlite_run(s->writes, sql);
}

/* Where the last batch ended. At a start: no group is compared with, until a report comes to it. */
static bool find_place(struct sqlite *s, struct place *at) {
    sqlite3_stmt *q = NULL;
    bool begun = sqlite3_prepare_v2(s->writes, "SELECT value FROM setting WHERE name = 'regroup'", -1, &q,
                                    NULL) == SQLITE_OK &&
                 sqlite3_step(q) == SQLITE_ROW;
    *at = (struct place){WHOLE, 0};
    if (begun) {
        char *end;
        at->pass = (int)strtol((const char *)sqlite3_column_text(q, 0), &end, 10);
        at->row = strtoll(end, NULL, 10);
    }
    sqlite3_finalize(q);
    return begun || sqlite_run(s->writes, "DELETE FROM way; DELETE FROM user;"
                                          "UPDATE grouped SET family = '', frames = '', users = 0;");
}

static bool run_with(struct sqlite *s, const char *sql, const char *a, const char *b) {
    sqlite3_stmt *q = NULL;
    bool done = sqlite3_prepare_v2(s->writes, sql, -1, &q, NULL) == SQLITE_OK;
    if (done) {
        sqlite_bind(q, "ss", a, b);
        done = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    return done;
}

/* The notes about the old group move with the first report that moves, unless the new group has notes. */
static bool leave(struct sqlite *s, const char *old, const struct row *row) {
    const char *group = row->group.fingerprint;
    return sqlite_take_group_sums(s, old, row) &&
           run_with(s, "UPDATE report SET grouped = ?1 WHERE id = ?2", group, row->id) &&
           run_with(
               s,
               "INSERT OR IGNORE INTO issue SELECT ?1, state, note, resolved_in, resolved_ms, resolved_count"
               " FROM issue WHERE fingerprint = ?2",
               group, old);
}

static bool move(struct sqlite *s, const char *old, struct row *row) {
    bool found = row->repeat_of[0] != '\0' ? sqlite_group_as_repeated(s, row) : sqlite_group_find(s, row);
    if (!found || !sqlite_add_group(s, row)) {
        return false;
    }
    if (strcmp(old, row->group.fingerprint) == 0) {
        return sqlite_count_user(s, row);
    }
    return leave(s, old, row) && sqlite_count_user(s, row) && sqlite_count_report(s, row) &&
           sqlite_add_group_sums(s, row);
}

/* One stored report; one that is damaged stays where it is. */
static bool regroup_one(struct sqlite *s, sqlite3_stmt *q, const json_t *schema, int pass) {
    struct row row;
    struct schema_fault fault;
    size_t bytes = 0;
    char old[64];
    snprintf(old, sizeof old, "%s", (const char *)sqlite3_column_text(q, 1));
    char *text = row_text(sqlite3_column_blob(q, 2), (size_t)sqlite3_column_bytes(q, 2), &bytes);
    if (text == NULL) {
        return true;
    }
    bool well = true, read = row_make(text, bytes, schema, &row, &fault);
    if (read && row.grouped &&
        (pass == BRIEF || (strncmp(row.group.frames, "partial", 7) == 0) == (pass == PARTIAL))) {
        well = move(s, old, &row);
    }
    row_free(&row);
    free(text);
    return well;
}

/* The next reports of a pass; how many, -1: it failed. */
static long regroup_some(struct sqlite *s, const json_t *schema, struct place *at, long max) {
    sqlite3_stmt *q = NULL;
    long count = 0;
    bool well =
        sqlite3_prepare_v2(
            s->writes,
            "SELECT rowid, grouped, body FROM report NOT INDEXED WHERE rowid > ?1 AND grouped IS NOT NULL"
            " AND brief = ?2 ORDER BY rowid LIMIT ?3",
            -1, &q, NULL) == SQLITE_OK;
    if (well) {
        sqlite3_bind_int64(q, 1, at->row);
        sqlite3_bind_int(q, 2, at->pass == BRIEF);
        sqlite3_bind_int64(q, 3, max);
        while (well && sqlite3_step(q) == SQLITE_ROW) {
            at->row = sqlite3_column_int64(q, 0);
            well = regroup_one(s, q, schema, at->pass);
            count++;
        }
    }
    sqlite3_finalize(q);
    return well ? count : -1;
}

/* Groups without reports go, and the others' extremes are those of their reports. */
static bool finish(struct sqlite *s) {
    return sqlite_run(
        s->writes, "DELETE FROM grouped WHERE count <= 0;"
                   "DELETE FROM group_day WHERE count <= 0; DELETE FROM group_version WHERE count <= 0;"
                   "DELETE FROM group_system WHERE count <= 0; DELETE FROM group_label WHERE count <= 0;"
                   "DELETE FROM group_duration WHERE count <= 0; DELETE FROM group_origin WHERE count <= 0;"
                   "DELETE FROM issue WHERE fingerprint NOT IN (SELECT fingerprint FROM grouped);"
                   "UPDATE grouped SET max_ms = m, first_ms = f, last_ms = l FROM (SELECT grouped AS g,"
                   " max(duration_ms) AS m, min(started_ms) AS f, max(started_ms) AS l FROM report"
                   " WHERE grouped IS NOT NULL GROUP BY grouped) WHERE fingerprint = g;"
                   "DELETE FROM setting WHERE name = 'regroup'");
}

static long regroup(struct sqlite *s, const json_t *schema, long max) {
    struct place at;
    if (!find_place(s, &at)) {
        return -1;
    }
    long count = 0;
    while (at.pass < PASSES && count == 0) {
        count = regroup_some(s, schema, &at, max);
        count = count >= 0 && sqlite_write_sums(s) ? count : -1;
        if (count == 0) {
            at = (struct place){at.pass + 1, 0};
        }
    }
    if (count > 0) {
        return keep_place(s, &at) ? count : -1;
    }
    return count == 0 && finish(s) ? 0 : -1;
}

long sqlite_regroup(void *file, const json_t *schema, long max) {
    struct sqlite *s = file;
    long count = -1;
    pthread_mutex_lock(&s->writing);
    sqlite_try_to_settle(s);
    if (sqlite_run(s->writes, "BEGIN IMMEDIATE")) {
        count = regroup(s, schema, max);
        count = count >= 0 && sqlite_run(s->writes, "COMMIT") ? count : -1;
    }
    if (count < 0) {
        snprintf(s->error, sizeof s->error, "%s", sqlite3_errmsg(s->writes));
        sqlite_run(s->writes, "ROLLBACK");
        sqlite_forget_sums(s);
    }
    pthread_mutex_unlock(&s->writing);
    return count;
}
