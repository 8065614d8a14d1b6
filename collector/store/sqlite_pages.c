/* SPDX-License-Identifier: MIT
 *
 * Queries of the pages. Any thread; one at a time.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/sqlite_private.h"

#define HOUR_MS INT64_C(3600000)
#define HOURS_OF_A_DAY 24

sqlite3_stmt *sqlite_query(struct sqlite *s, const char *sql) {
    sqlite3_stmt *q = NULL;
    return sqlite3_prepare_v2(s->reads, sql, -1, &q, NULL) == SQLITE_OK ? q : NULL;
}

/* An array of objects: a member for each column, by its name. Ends the query. */
static json_t *rows_of(sqlite3_stmt *q) {
    json_t *rows = json_array();
    while (q != NULL && sqlite3_step(q) == SQLITE_ROW) {
        json_t *row = json_object();
        for (int i = 0; i < sqlite3_column_count(q); i++) {
            bool text = sqlite3_column_type(q, i) == SQLITE_TEXT;
            json_object_set_new(row, sqlite3_column_name(q, i),
                                text ? json_string((const char *)sqlite3_column_text(q, i))
                                     : json_integer(sqlite3_column_int64(q, i)));
        }
        json_array_append_new(rows, row);
    }
    sqlite3_finalize(q);
    return rows;
}

/* Of a query with the app and the first hour as its parameters. */
static json_t *rows_since(struct sqlite *s, const char *sql, const char *app, int64_t hour) {
    sqlite3_stmt *q = sqlite_query(s, sql);
    if (q != NULL) {
        sqlite3_bind_text(q, 1, app, -1, SQLITE_STATIC);
        sqlite3_bind_int64(q, 2, hour);
    }
    return rows_of(q);
}

static json_t *rows_of_group(struct sqlite *s, const char *sql, const char *fingerprint) {
    sqlite3_stmt *q = sqlite_query(s, sql);
    if (q != NULL) {
        sqlite3_bind_text(q, 1, fingerprint, -1, SQLITE_STATIC);
    }
    return rows_of(q);
}

json_t *sqlite_overview(void *file, const char *app, int days) {
    struct sqlite *s = file;
    int64_t hour = (int64_t)time(NULL) / 3600 - (int64_t)days * HOURS_OF_A_DAY;
    json_t *all = json_object();
    pthread_mutex_lock(&s->reading);
    json_object_set_new(
        all, "groups",
        rows_since(
            s,
            "SELECT g.fingerprint, g.app, g.function, g.place, g.cause, g.by_owner, g.users, g.max_ms, g.first_ms,"
            " g.last_ms, sum(h.count) AS count, sum(h.total_ms) AS total_ms, count(DISTINCT h.version) AS versions"
            " FROM hour h JOIN grouped g USING(fingerprint) WHERE h.hour >= ?2 AND (?1 = '' OR g.app = ?1)"
            " GROUP BY g.fingerprint ORDER BY sum(h.total_ms) DESC LIMIT 200",
            app, hour));
    json_object_set_new(
        all, "days",
        rows_since(s,
                   "SELECT h.hour / 24 AS day, h.fingerprint, sum(h.total_ms) AS total_ms FROM hour h"
                   " JOIN grouped g USING(fingerprint) WHERE h.hour >= ?2 AND (?1 = '' OR g.app = ?1)"
                   " GROUP BY 1, 2 ORDER BY 1",
                   app, hour));
    json_object_set_new(
        all, "versions",
        rows_since(
            s,
            "SELECT g.app, h.version, sum(h.count) AS count, sum(h.total_ms) AS total_ms,"
            " coalesce((SELECT sum(used_ms) FROM usage u WHERE u.app = g.app AND u.version = h.version"
            " AND u.hour >= ?2), 0) AS used_ms FROM hour h JOIN grouped g USING(fingerprint)"
            " WHERE h.hour >= ?2 AND (?1 = '' OR g.app = ?1) GROUP BY 1, 2 ORDER BY 1, 4 DESC LIMIT 50",
            app, hour));
    json_object_set_new(
        all, "used",
        rows_since(s,
                   "SELECT coalesce(sum(used_ms), 0) AS used_ms, coalesce(sum(runs), 0) AS runs FROM usage"
                   " WHERE (?1 = '' OR app = ?1) AND hour >= ?2",
                   app, hour));
    json_object_set_new(all, "apps",
                        rows_of(sqlite_query(s, "SELECT DISTINCT app FROM grouped ORDER BY 1 LIMIT 500")));
    pthread_mutex_unlock(&s->reading);
    return all;
}

json_t *sqlite_group(void *file, const char *fingerprint) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    json_t *rows = rows_of_group(s, "SELECT * FROM grouped WHERE fingerprint = ?1", fingerprint);
    json_t *group = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    if (group != NULL) {
        json_object_set_new(
            group, "versions",
            rows_of_group(s,
                          "SELECT version, sum(count) AS count, sum(total_ms) AS total_ms, min(hour) AS"
                          " first_hour, max(hour) AS last_hour FROM hour WHERE fingerprint = ?1 GROUP BY 1"
                          " ORDER BY 3 DESC LIMIT 50",
                          fingerprint));
        json_object_set_new(
            group, "systems",
            rows_of_group(s,
                          "SELECT system, sum(count) AS count, sum(total_ms) AS total_ms FROM hour"
                          " WHERE fingerprint = ?1 GROUP BY 1 ORDER BY 3 DESC LIMIT 50",
                          fingerprint));
        json_object_set_new(
            group, "days",
            rows_of_group(s,
                          "SELECT hour / 24 AS day, sum(count) AS count, sum(total_ms) AS total_ms FROM hour"
                          " WHERE fingerprint = ?1 GROUP BY 1 ORDER BY 1 DESC LIMIT 90",
                          fingerprint));
        /* Each step of the histogram is twice as long as the one before: 2^i to 2^(i+1) ms. */
        json_object_set_new(
            group, "durations",
            rows_of_group(s,
                          "SELECT CAST(log2(max(duration_ms, 1)) AS INTEGER) AS step, count(*) AS count FROM"
                          " (SELECT duration_ms FROM report WHERE grouped = ?1 ORDER BY started_ms DESC"
                          " LIMIT 10000) GROUP BY 1 ORDER BY 1",
                          fingerprint));
        json_object_set_new(
            group, "reports",
            rows_of_group(s,
                          "SELECT id, kind, version, system, started_ms, duration_ms, brief FROM report"
                          " WHERE grouped = ?1 ORDER BY started_ms DESC LIMIT 50",
                          fingerprint));
    }
    pthread_mutex_unlock(&s->reading);
    return group;
}

json_t *sqlite_counts(void *file) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    json_t *rows = rows_of(sqlite_query(s, "SELECT (SELECT count(*) FROM grouped) AS groups,"
                                           " (SELECT coalesce(sum(count), 0) FROM grouped) AS hangs"));
    json_t *counts = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    pthread_mutex_unlock(&s->reading);
    return counts;
}

char *sqlite_report(void *file, const char *id, size_t *bytes) {
    struct sqlite *s = file;
    char *text = NULL;
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *q = sqlite_query(s, "SELECT body FROM report WHERE id = ?1");
    if (q != NULL) {
        sqlite3_bind_text(q, 1, id, -1, SQLITE_STATIC);
        if (sqlite3_step(q) == SQLITE_ROW) {
            const void *body = sqlite3_column_blob(q, 0);
            text = row_text(body, (size_t)sqlite3_column_bytes(q, 0), bytes);
        }
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
    return text;
}

void sqlite_each_report(void *file, const char *fingerprint, int max,
                        void (*take)(void *to, const char *text, size_t bytes), void *to) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *q = sqlite_query(
        s, "SELECT body FROM report WHERE grouped = ?1 AND brief = 0 ORDER BY started_ms DESC LIMIT ?2");
    if (q != NULL) {
        sqlite3_bind_text(q, 1, fingerprint, -1, SQLITE_STATIC);
        sqlite3_bind_int(q, 2, max);
        while (sqlite3_step(q) == SQLITE_ROW) {
            size_t bytes = 0;
            const void *body = sqlite3_column_blob(q, 0);
            char *text = row_text(body, (size_t)sqlite3_column_bytes(q, 0), &bytes);
            if (text != NULL) {
                take(to, text, bytes);
            }
            free(text);
        }
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
}
