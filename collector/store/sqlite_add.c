/* SPDX-License-Identifier: MIT
 *
 * Runs on the writer's thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector/store/sqlite_group.h"

#define MORE "count = count + 1, total_ms = min(total_ms + excluded.total_ms, " SUM_MAX ")"
#define SEEN "first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms)"

static const char *const sql_of[STATEMENTS] = {
    [ADD_REPORT] = "INSERT OR IGNORE INTO report VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)",
    /* A brief repeat has no threads: its group is that of the whole report before it. */
    [FIND_REPEATED] = "SELECT grouped FROM report WHERE id = ?1 AND grouped IS NOT NULL AND session = ?2",
    [FIND_ALIKE] =
        "SELECT grouped FROM report WHERE session = ?1 AND own_fingerprint = ?2 AND brief = 0 LIMIT 1",
    /* A session of an app without a version: its hangs have the build's. */
    [FIND_VERSION] = "SELECT version FROM report WHERE session = ?1 AND version <> '' LIMIT 1",
    [ADD_GROUP] =
        "INSERT INTO grouped(fingerprint, rule, app, function, place, cause, by_owner, path, count, total_ms,"
        " max_ms, users, first_ms, last_ms, kind, family, frames)"
        " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,0,0,0,0,?9,?9,?10,?11,?12) ON CONFLICT(fingerprint) DO UPDATE SET"
        " family = excluded.family, frames = excluded.frames WHERE grouped.family = '' AND"
        " excluded.family <> ''",
    [FIND_WAY] = "SELECT grouped FROM way WHERE fingerprint = ?1",
    [FIND_FAMILY] = "SELECT fingerprint, frames, count FROM grouped WHERE family = ?1 AND family <> ''"
                    " ORDER BY rowid DESC LIMIT 300",
    [ADD_WAY] = "INSERT OR REPLACE INTO way VALUES(?1, ?2)",
    [SHOW_GROUP] =
        "UPDATE grouped SET function = ?2, place = ?3, path = ?4, frames = ?5 WHERE fingerprint = ?1",
    [COUNT_GROUP] = "UPDATE grouped SET count = count + 1, total_ms = min(total_ms + ?2, " SUM_MAX
                    "), max_ms = max(max_ms, ?2),"
                    " first_ms = min(first_ms, ?3), last_ms = max(last_ms, ?3) WHERE fingerprint = ?1",
    [ADD_USER] = "INSERT OR IGNORE INTO user VALUES(?1, ?2)",
    [COUNT_USER] = "UPDATE grouped SET users = users + 1 WHERE fingerprint = ?1",
    [ADD_GROUP_DAY] = "INSERT INTO group_day VALUES(?1,?2,1,?3) ON CONFLICT DO UPDATE SET " MORE,
    [ADD_GROUP_VERSION] =
        "INSERT INTO group_version VALUES(?1,?2,?3,1,?4,?5,?5) ON CONFLICT DO UPDATE SET " MORE ", " SEEN,
    [ADD_GROUP_SYSTEM] = "INSERT INTO group_system VALUES(?1,?2,1,?3) ON CONFLICT DO UPDATE SET " MORE,
    [ADD_GROUP_DURATION] = "INSERT INTO group_duration VALUES(?1,?2,?3,1,?4) ON CONFLICT DO UPDATE SET " MORE,
    [ADD_APP_DAY] = "INSERT INTO app_day VALUES(?1,?2,?3,1,?4,?5) ON CONFLICT DO UPDATE SET " MORE
                    ", hang_free = hang_free + excluded.hang_free",
    [ADD_VERSION_DAY] =
        "INSERT INTO version_day VALUES(?1,?2,?3,?4,?5,?6) ON CONFLICT DO UPDATE SET"
        " count = count + excluded.count, total_ms = min(total_ms + excluded.total_ms, " SUM_MAX
        "), used_ms = min(used_ms + excluded.used_ms, " SUM_MAX ")",
    [ADD_APP_VERSION] =
        "INSERT INTO app_version VALUES(?1,?2,?3,?4,?5,?6,?7,?7) ON CONFLICT DO UPDATE SET"
        " count = count + excluded.count, total_ms = min(total_ms + excluded.total_ms, " SUM_MAX
        "), runs = runs + excluded.runs, used_ms = min(used_ms + excluded.used_ms, " SUM_MAX "), " SEEN,
};

sqlite3_stmt *sqlite_statement(struct sqlite *s, enum statement which) {
    sqlite3_stmt **q = &s->statement[which];
    if (*q == NULL &&
        sqlite3_prepare_v3(s->writes, sql_of[which], -1, SQLITE_PREPARE_PERSISTENT, q, NULL) != SQLITE_OK) {
        return NULL;
    }
    sqlite3_reset(*q);
    return *q;
}

static void bind_text(sqlite3_stmt *q, int at, const char *text) {
    sqlite3_bind_text(q, at, text, -1, SQLITE_STATIC);
}

bool sqlite_done(sqlite3_stmt *q) {
    bool ended = q != NULL && sqlite3_step(q) == SQLITE_DONE;
    if (q != NULL) {
        sqlite3_reset(q);
    }
    return ended;
}

/* Puts the group's fingerprint that a query finds into the row. */
static void take_group(sqlite3_stmt *q, struct row *row) {
    if (q != NULL && sqlite3_step(q) == SQLITE_ROW) {
        snprintf(row->group.fingerprint, sizeof row->group.fingerprint, "%s",
                 (const char *)sqlite3_column_text(q, 0));
    }
    if (q != NULL) {
        sqlite3_reset(q);
    }
}

bool sqlite_group_as_repeated(struct sqlite *s, struct row *row) {
    char before[sizeof row->group.fingerprint];
    memcpy(before, row->group.fingerprint, sizeof before);
    sqlite3_stmt *q = sqlite_statement(s, FIND_REPEATED);
    if (q != NULL) {
        bind_text(q, 1, row->repeat_of);
        bind_text(q, 2, row->session);
        take_group(q, row);
    }
    if (strcmp(before, row->group.fingerprint) == 0 && row->session[0] != '\0' &&
        row->own_fingerprint[0] != '\0' && (q = sqlite_statement(s, FIND_ALIKE)) != NULL) {
        bind_text(q, 1, row->session);
        bind_text(q, 2, row->own_fingerprint);
        take_group(q, row);
    }
    return strcmp(before, row->group.fingerprint) != 0 || sqlite_group_find(s, row);
}

static bool add_report(struct sqlite *s, const struct row *row) {
    sqlite3_stmt *q = sqlite_statement(s, ADD_REPORT);
    if (q == NULL) {
        return false;
    }
    const char *const texts[] = {row->id,
                                 row->grouped ? row->group.fingerprint : NULL,
                                 row->app,
                                 row->version,
                                 row->system,
                                 row->kind,
                                 row->cause,
                                 row->session,
                                 row->own_fingerprint};
    for (int i = 0; i < 9; i++) {
        bind_text(q, i + 1, texts[i]);
    }
    sqlite3_bind_int(q, 10, row->repeat_of[0] != '\0');
    sqlite3_bind_int64(q, 11, row->started_ms);
    sqlite3_bind_int64(q, 12, row->duration_ms);
    sqlite3_bind_int64(q, 13, (int64_t)time(NULL) * 1000);
    sqlite3_bind_blob64(q, 14, row->body, row->body_bytes, SQLITE_STATIC);
    return sqlite_done(q);
}

static void find_version(struct sqlite *s, struct row *row) {
    sqlite3_stmt *q = sqlite_statement(s, FIND_VERSION);
    if (q != NULL) {
        bind_text(q, 1, row->session);
        if (sqlite3_step(q) == SQLITE_ROW) {
            snprintf(row->version, sizeof row->version, "%s", (const char *)sqlite3_column_text(q, 0));
        }
        sqlite3_reset(q);
    }
}

bool sqlite_add_group(struct sqlite *s, const struct row *row) {
    const struct grouping *g = &row->group;
    sqlite3_stmt *q = sqlite_statement(s, ADD_GROUP);
    if (q == NULL) {
        return false;
    }
    bind_text(q, 1, g->fingerprint);
    sqlite3_bind_int(q, 2, GROUPING_VERSION);
    const char *const texts[] = {row->app, g->function, g->place,
                                 row->cause[0] != '\0' ? row->cause : "unknown"};
    for (int i = 0; i < 4; i++) {
        bind_text(q, i + 3, texts[i]);
    }
    sqlite3_bind_int(q, 7, g->by_owner);
    bind_text(q, 8, g->path);
    sqlite3_bind_int64(q, 9, row->started_ms);
    bind_text(q, 10, row->is_hang ? "hang" : row->kind);
    bind_text(q, 11, g->family);
    bind_text(q, 12, g->frames);
    return sqlite_done(q);
}

bool sqlite_count_user(struct sqlite *s, const struct row *row) {
    sqlite3_stmt *q = sqlite_statement(s, ADD_USER);
    if (q == NULL) {
        return false;
    }
    bind_text(q, 1, row->group.fingerprint);
    bind_text(q, 2, row->who);
    if (!sqlite_done(q)) {
        return false;
    }
    if (sqlite3_changes(s->writes) == 0) {
        return true;
    }
    q = sqlite_statement(s, COUNT_USER);
    if (q == NULL) {
        return false;
    }
    bind_text(q, 1, row->group.fingerprint);
    return sqlite_done(q);
}

bool sqlite_count_report(struct sqlite *s, const struct row *row) {
    sqlite3_stmt *q = sqlite_statement(s, COUNT_GROUP);
    if (q == NULL) {
        return false;
    }
    bind_text(q, 1, row->group.fingerprint);
    sqlite3_bind_int64(q, 2, row->duration_ms);
    sqlite3_bind_int64(q, 3, row->started_ms);
    return sqlite_done(q);
}

bool sqlite_count_row(struct sqlite *s, const struct row *row) {
    return sqlite_add_group(s, row) && sqlite_count_user(s, row) && sqlite_count_report(s, row);
}

static bool add_row(struct sqlite *s, struct row *row) {
    if (row->grouped &&
        !(row->repeat_of[0] != '\0' ? sqlite_group_as_repeated(s, row) : sqlite_group_find(s, row))) {
        return false;
    }
    if (!add_report(s, row)) {
        return false;
    }
    row->outcome = sqlite3_changes(s->writes) > 0 ? ROW_STORED : ROW_REPEATED;
    if (row->outcome == ROW_REPEATED) {
        return true;
    }
    if (row->is_session && row->version[0] == '\0') {
        find_version(s, row);
    }
    return (!row->grouped || (sqlite_count_row(s, row) && sqlite_add_unnamed(s, row))) &&
           sqlite_add_sums(s, row);
}

static bool add_all(struct sqlite *s, struct row *const *rows, size_t count) {
    bool added = sqlite_run(s->writes, "BEGIN IMMEDIATE");
    for (size_t i = 0; added && i < count; i++) {
        added = add_row(s, rows[i]);
    }
    return added && sqlite_run(s->writes, "COMMIT");
}

enum store_result sqlite_add(void *file, struct row *const *rows, size_t count) {
    struct sqlite *s = file;
    enum store_result result = STORE_DONE;
    pthread_mutex_lock(&s->writing);
    if (!add_all(s, rows, count)) {
        int error = sqlite3_errcode(s->writes), system = sqlite3_system_errno(s->writes);
        result = error == SQLITE_FULL || system == ENOSPC || system == EDQUOT ? STORE_FULL : STORE_FAILED;
        snprintf(s->error, sizeof s->error, "%s", sqlite3_errmsg(s->writes));
        sqlite_run(s->writes, "ROLLBACK");
        for (size_t i = 0; i < count; i++) {
            rows[i]->outcome = ROW_PENDING;
        }
    }
    pthread_mutex_unlock(&s->writing);
    return result;
}
