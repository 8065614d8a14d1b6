/* SPDX-License-Identifier: MIT
 *
 * A report gets another text, and with it another group: its counts go along. Runs on any thread, between two
 * transactions of the writer.
 */
#include <stdio.h>
#include <string.h>

#include "collector/store/sqlite_private.h"

/* Subtracts report ?1 from a group's sums. Version and system stay, since the report was counted under them.
 */
#define LESS \
    " SET count = count - 1, total_ms = max(0, total_ms - (SELECT duration_ms FROM report WHERE id = ?1))"
#define SAME(column) " AND " column " = (SELECT " column " FROM report WHERE id = ?1)"
static const char *const uncount[] = {
    "UPDATE grouped" LESS " WHERE fingerprint = ?2",
    "UPDATE group_day" LESS
    " WHERE fingerprint = ?2 AND day = (SELECT started_ms / 86400000 FROM report WHERE id = ?1)",
    "UPDATE group_version" LESS " WHERE fingerprint = ?2" SAME("app") SAME("version"),
    "UPDATE group_system" LESS " WHERE fingerprint = ?2" SAME("system"),
    "UPDATE group_duration" LESS " WHERE fingerprint = ?2" SAME(
        "kind") " AND step = (SELECT CAST(log2(max(duration_ms, 1)) AS INTEGER) FROM report WHERE id = ?1)",
    "UPDATE group_label" LESS " WHERE fingerprint = ?2 AND label ="
    " (SELECT iif(" SQLITE_HAS_LABEL(
        "?2", "r.label") ", r.label, '') FROM report r WHERE r.id = ?1 AND r.label <> '')",
    "UPDATE group_origin" LESS
    " WHERE fingerprint = ?2 AND " SQLITE_ORIGINS_OF_REPORT("group_origin", "fingerprint", "?2"),
    "DELETE FROM group_origin WHERE fingerprint = ?2 AND count <= 0",
    "DELETE FROM group_label WHERE fingerprint = ?2 AND count <= 0",
    "DELETE FROM group_day WHERE fingerprint = ?2 AND count <= 0",
    "DELETE FROM group_version WHERE fingerprint = ?2 AND count <= 0",
    "DELETE FROM group_system WHERE fingerprint = ?2 AND count <= 0",
    "DELETE FROM group_duration WHERE fingerprint = ?2 AND count <= 0",
    "UPDATE report SET grouped = NULL WHERE id = ?1",
    /* Another report of the same run keeps the user in the group. */
    "DELETE FROM user WHERE fingerprint = ?2 AND who = ?3 AND NOT EXISTS"
    " (SELECT 1 FROM report WHERE grouped = ?2" SAME("session") ")",
    "DELETE FROM user WHERE fingerprint = ?2 AND EXISTS"
    " (SELECT 1 FROM grouped WHERE fingerprint = ?2 AND count <= 0)",
    "DELETE FROM way WHERE grouped = ?2 AND EXISTS (SELECT 1 FROM grouped WHERE fingerprint = ?2 AND count <= 0)",
    "DELETE FROM grouped WHERE fingerprint = ?2 AND count <= 0",
    "UPDATE grouped SET users = (SELECT count(*) FROM user WHERE fingerprint = ?2),"
    " first_ms = coalesce((SELECT min(started_ms) FROM report WHERE grouped = ?2), first_ms),"
    " last_ms = coalesce((SELECT max(started_ms) FROM report WHERE grouped = ?2), last_ms) WHERE fingerprint = ?2",
    "UPDATE grouped SET max_ms = coalesce((SELECT max(duration_ms) FROM report WHERE grouped = ?2), 0)"
    " WHERE fingerprint = ?2 AND max_ms = (SELECT duration_ms FROM report WHERE id = ?1)"};

static bool run_with(struct sqlite *s, const char *sql, const char *a, const char *b, const char *c) {
    sqlite3_stmt *q = NULL;
    const char *const texts[] = {a, b, c};
    bool done = sqlite3_prepare_v2(s->writes, sql, -1, &q, NULL) == SQLITE_OK;
    for (int i = 0; done && i < 3 && i < sqlite3_bind_parameter_count(q); i++) {
        sqlite3_bind_text(q, i + 1, texts[i], -1, SQLITE_STATIC);
    }
    done = done && sqlite3_step(q) == SQLITE_DONE;
    sqlite3_finalize(q);
    return done;
}

bool sqlite_uncount(struct sqlite *s, const char *id, const char *group, const char *who) {
    bool done = true;
    for (size_t i = 0; done && i < sizeof uncount / sizeof uncount[0]; i++) {
        done = run_with(s, uncount[i], id, group, who);
    }
    return done;
}

/* The group that the report is in; "": none. False: there is no such report. */
static bool find_group(struct sqlite *s, const char *id, char group[GROUPING_HEX + 1]) {
    sqlite3_stmt *q = NULL;
    bool found = false;
    group[0] = '\0';
    if (sqlite3_prepare_v2(s->writes, "SELECT coalesce(grouped, '') FROM report WHERE id = ?1", -1, &q,
                           NULL) == SQLITE_OK) {
        sqlite3_bind_text(q, 1, id, -1, SQLITE_STATIC);
        found = sqlite3_step(q) == SQLITE_ROW;
        if (found) {
            snprintf(group, GROUPING_HEX + 1, "%s", (const char *)sqlite3_column_text(q, 0));
        }
    }
    sqlite3_finalize(q);
    return found;
}

static bool set_body(struct sqlite *s, const struct row *row) {
    sqlite3_stmt *q = NULL;
    bool done = sqlite3_prepare_v2(s->writes, "UPDATE report SET grouped = ?2, body = ?3 WHERE id = ?1", -1,
                                   &q, NULL) == SQLITE_OK;
    if (done) {
        sqlite3_bind_text(q, 1, row->id, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 2, row->grouped ? row->group.fingerprint : NULL, -1, SQLITE_STATIC);
        sqlite3_bind_blob64(q, 3, row->body, row->body_bytes, SQLITE_STATIC);
        done = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    return done;
}

static bool replace(struct sqlite *s, struct row *row) {
    char before[GROUPING_HEX + 1];
    if (!find_group(s, row->id, before)) {
        return true; /* the retention removed it meanwhile */
    }
    if (before[0] != '\0' && !sqlite_uncount(s, row->id, before, row->who)) {
        return false;
    }
    if (row->grouped &&
        !(row->repeat_of[0] != '\0' ? sqlite_group_as_repeated(s, row) : sqlite_group_find(s, row))) {
        return false;
    }
    return set_body(s, row) && (!row->grouped || (sqlite_count_row(s, row) && sqlite_add_group_sums(s, row)));
}

enum store_result sqlite_replace(void *file, struct row *row) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->writing);
    sqlite_try_to_settle(s);
    bool done = sqlite_run(s->writes, "BEGIN IMMEDIATE") && replace(s, row) && sqlite_write_sums(s) &&
                sqlite_run(s->writes, "COMMIT");
    if (!done) {
        snprintf(s->error, sizeof s->error, "%s", sqlite3_errmsg(s->writes));
        sqlite_run(s->writes, "ROLLBACK");
        sqlite_forget_sums(s);
    }
    pthread_mutex_unlock(&s->writing);
    return done ? STORE_DONE : STORE_FAILED;
}

/* ---- reports that wait for debug files ---- */

bool sqlite_add_unnamed(struct sqlite *s, const struct row *row) {
    for (size_t i = 0; i < row->unnamed_count; i++) {
        if (!run_with(s, "INSERT OR IGNORE INTO unnamed VALUES(?1, ?2)", row->unnamed[i], row->id, NULL)) {
            return false;
        }
    }
    return true;
}

int sqlite_unnamed(void *file, const char *build_id, char (*ids)[ROW_ID_CHARS + 1], int max) {
    struct sqlite *s = file;
    int count = 0;
    sqlite_start_reading(s);
    sqlite3_stmt *q =
        sqlite_query(s, "SELECT report FROM unnamed WHERE build_id = ?1 ORDER BY report LIMIT ?2");
    if (q != NULL) {
        sqlite3_bind_text(q, 1, build_id, -1, SQLITE_STATIC);
        sqlite3_bind_int(q, 2, max);
        while (count < max && sqlite3_step(q) == SQLITE_ROW) {
            snprintf(ids[count++], ROW_ID_CHARS + 1, "%s", (const char *)sqlite3_column_text(q, 0));
        }
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
    return count;
}

bool sqlite_end_unnamed(void *file, const char *build_id, const char *id) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->writing);
    bool done = run_with(s, "DELETE FROM unnamed WHERE build_id = ?1 AND report = ?2", build_id, id, NULL);
    pthread_mutex_unlock(&s->writing);
    return done;
}
