/* SPDX-License-Identifier: MIT
 *
 * Queries of reports: lists, search, and their bodies. Any thread; one at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/sqlite_private.h"

#define REPORT_MEMBERS                                                                                                             \
    "id, r.kind, r.cause, r.app, version, system, started_ms, duration_ms, brief, host, unit, container, coalesce(grouped, '') AS" \
    " fingerprint, coalesce(function, '') AS function, coalesce(place, '') AS place"
/* A report is named by its group, which is of more reports: it lacks fewer functions. */
#define REPORTS " FROM report r LEFT JOIN grouped g ON g.fingerprint = r.grouped"
#define FOUND_MAX 50
/* The search for stacks of a group ends after so many brief repeats. */
#define LOOKED_AT_MAX 2000
#define ID_PREFIX_MIN 4

static bool given(const char *text) {
    return text != NULL && text[0] != '\0';
}

json_t *sqlite_reports(void *file, const struct store_filter *f) {
    static const char newest[] =
        " AND started_ms >= ?5 AND (?7 = '' OR unit = ?7) AND (?8 = '' OR container = ?8)"
        " AND (?9 = '' OR image = ?9) ORDER BY started_ms DESC LIMIT ?3 OFFSET ?4";
    struct sqlite *s = file;
    const char *which, *first, *second;
    char sql[1024];
    if (given(f->fingerprint)) {
        which = given(f->origin[ORIGIN_HOST])
                    ? "grouped = ?1 AND (?2 = '' OR version = ?2) AND host = ?6 AND host <> ''"
                : given(f->version) ? "grouped = ?1 AND version = ?2"
                                    : "grouped = ?1 AND ?2 = ''";
        first = f->fingerprint;
        second = f->version != NULL ? f->version : "";
    } else {
        /* As the partial index says it: else SQLite does not use it. */
        which = given(f->app) ? "r.kind = ?1 AND r.app = ?2 AND r.kind NOT IN ('hang', 'session')"
                              : "r.kind = ?1 AND ?2 = '' AND r.kind NOT IN ('hang', 'session')";
        first = f->kind != NULL ? f->kind : "";
        second = f->app != NULL ? f->app : "";
    }
    snprintf(sql, sizeof sql, "SELECT " REPORT_MEMBERS REPORTS " WHERE %s%s", which, newest);
    sqlite_start_reading(s);
    const char *origin[ORIGINS];
    for (int i = 0; i < ORIGINS; i++) {
        origin[i] = f->origin[i] != NULL ? f->origin[i] : "";
    }
    json_t *reports =
        sqlite_select(s, sql, "ssiiissss", first, second, (int64_t)f->limit, (int64_t)f->offset,
                      f->days > 0 ? sqlite_first_day(f->days) * DAY_MS : INT64_MIN, origin[ORIGIN_HOST],
                      origin[ORIGIN_UNIT], origin[ORIGIN_CONTAINER], origin[ORIGIN_IMAGE]);
    pthread_mutex_unlock(&s->reading);
    return json_pack("{s:o}", "reports", reports);
}

static bool is_start_of_id(const char *words) {
    return strlen(words) >= ID_PREFIX_MIN && strspn(words, "0123456789abcdef-") == strlen(words);
}

json_t *sqlite_search(void *file, const char *words, const char *app, long offset) {
    struct sqlite *s = file;
    sqlite_start_reading(s);
    json_t *groups = sqlite_select(
        s,
        "SELECT g.fingerprint, g.app, g.function, g.place, g.cause, g.by_owner, g.users, g.max_ms, g.first_ms,"
        " g.last_ms, g.count, g.total_ms, g.kind, (SELECT count(*) FROM group_version v"
        " WHERE v.fingerprint = g.fingerprint) AS versions FROM grouped g WHERE (?2 = '' OR app = ?2) AND"
        " (instr(lower(function), lower(?1)) > 0 OR instr(lower(place), lower(?1)) > 0"
        " OR instr(lower(path), lower(?1)) > 0 OR fingerprint = ?1 OR fingerprint IN"
        " (SELECT fingerprint FROM group_version WHERE (app, version) IN"
        " (SELECT app, version FROM app_version WHERE version = ?1)))"
        " ORDER BY total_ms DESC LIMIT ?3 OFFSET ?4",
        "ssii", words, app, (int64_t)FOUND_MAX, (int64_t)offset);
    json_t *reports =
        is_start_of_id(words)
            ? sqlite_select(s,
                            "SELECT " REPORT_MEMBERS REPORTS " WHERE id >= ?1 AND id < ?1 || 'g'"
                            " AND (?2 = '' OR r.app = ?2) ORDER BY id LIMIT ?3",
                            "ssi", words, app, (int64_t)FOUND_MAX)
            : json_array();
    pthread_mutex_unlock(&s->reading);
    return json_pack("{s:o, s:o}", "groups", groups, "reports", reports);
}

void *sqlite_report_body(void *file, const char *id, size_t *bytes) {
    struct sqlite *s = file;
    void *body = NULL;
    sqlite_start_reading(s);
    sqlite3_stmt *q = sqlite_query(s, "SELECT body FROM report WHERE id = ?1");
    if (q != NULL) {
        sqlite_bind(q, "s", id);
        if (sqlite3_step(q) == SQLITE_ROW) {
            const void *stored = sqlite3_column_blob(q, 0);
            *bytes = (size_t)sqlite3_column_bytes(q, 0);
            body = *bytes > 0 ? malloc(*bytes) : NULL;
            if (body != NULL) {
                memcpy(body, stored, *bytes);
            }
        }
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
    return body;
}

/* The bodies first: the lock is not for the time that it takes to merge them. */
struct body {
    void *data;
    size_t bytes;
};

/* Reads no more rows than necessary: in a large file each row may cost a disk access. */
static int read_bodies(sqlite3_stmt *q, struct body *bodies, int max) {
    int count = 0;
    while (q != NULL && count < max && sqlite3_step(q) == SQLITE_ROW) {
        if (sqlite3_column_int(q, 1) != 0) {
            continue; /* a brief repeat */
        }
        size_t bytes = (size_t)sqlite3_column_bytes(q, 0);
        void *copy = malloc(bytes + 1);
        if (copy != NULL) {
            memcpy(copy, sqlite3_column_blob(q, 0), bytes);
            bodies[count++] = (struct body){copy, bytes};
        }
    }
    return count;
}

void sqlite_each_report(void *file, const struct store_filter *f,
                        void (*take)(void *to, const char *text, size_t bytes), void *to) {
    struct sqlite *s = file;
    struct body *bodies = calloc((size_t)f->limit + 1, sizeof *bodies);
    char sql[512];
    if (bodies == NULL) {
        return;
    }
    snprintf(sql, sizeof sql,
             "SELECT body, brief FROM report WHERE grouped = ?1 AND %s ORDER BY started_ms DESC LIMIT ?3",
             given(f->version) ? "version = ?2" : "?2 = ''");
    sqlite_start_reading(s);
    sqlite3_stmt *q = sqlite_query(s, sql);
    if (q != NULL) {
        sqlite_bind(q, "ssi", f->fingerprint, given(f->version) ? f->version : "", (int64_t)LOOKED_AT_MAX);
    }
    int count = read_bodies(q, bodies, f->limit);
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
    for (int i = 0; i < count; i++) {
        size_t bytes = 0;
        char *text = row_text(bodies[i].data, bodies[i].bytes, &bytes);
        if (text != NULL) {
            take(to, text, bytes);
        }
        free(text);
        free(bodies[i].data);
    }
    free(bodies);
}
