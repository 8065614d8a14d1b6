/* SPDX-License-Identifier: MIT
 *
 * Runs on the writer's thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector/store/sqlite_private.h"

#define LABELS_MAX "200" /* of a group: labels with numbers in them must not fill the store */
/* Hosts, units, containers or images: of a group, of an app. Ids of containers must not fill the store. */
#define ORIGINS_OF_GROUP_MAX "1000"
#define ORIGINS_OF_APP_MAX "10000"
#define KNOWN_ORIGIN(table, key, max)                                                                       \
    "iif(" SQLITE_HAS_ORIGIN(table, key, "?1", "?2", "?3") " OR (SELECT count(*) FROM " table " WHERE " key \
                                                           " = ?1 AND part = ?2) < " max ", ?3, '')"
#define TIME(sum) sum "_ms = min(" sum "_ms + excluded." sum "_ms, " SUM_MAX ")"
#define MORE "count = count + excluded.count, " TIME("total")
#define SEEN "first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms)"
#define ADDED " ON CONFLICT DO UPDATE SET "

static const char *const sql_of[STATEMENTS] = {
    [ADD_REPORT] =
        "INSERT OR IGNORE INTO report VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,"
        "?18,?19)",
    [FIND_REPORT] = "SELECT 1 FROM report WHERE id = ?1",
    [ADD_ARRIVED] = "INSERT INTO arrived VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,"
                    "?18,?19,?20,?21,?22,?23,?24,?25,?26,?27)",
    [ALL_ARRIVED] = "SELECT * FROM arrived ORDER BY rowid",
    /* A brief repeat has no threads: its group is that of the whole report before it, of the same app. A key
     * may send reports of one app only, and must not count in another one's groups. */
    [FIND_REPEATED] =
        "SELECT grouped FROM report WHERE id = ?1 AND grouped IS NOT NULL AND session = ?2 AND app = ?3",
    [FIND_ALIKE] =
        "SELECT grouped FROM report WHERE session = ?1 AND own_fingerprint = ?2 AND app = ?3 AND brief = 0 AND grouped IS NOT NULL LIMIT 1",
    /* A session of an app without a version: its hangs have the build's. */
    [FIND_VERSION] = "SELECT version FROM report WHERE session = ?1 AND app = ?2 AND version <> '' LIMIT 1",
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
    [ADD_USER] = "INSERT OR IGNORE INTO user VALUES(?1, ?2)",
    /* Of the sums: ?1 to ?3 are texts and ?4 the number of the key; then as write_sum has them. */
    [COUNT_GROUP] = "UPDATE grouped SET count = count + ?5, total_ms = min(total_ms + ?6, " SUM_MAX
                    "), first_ms = min(first_ms, ?7), last_ms = max(last_ms, ?8), max_ms = max(max_ms, ?9),"
                    " users = users + ?10 WHERE fingerprint = ?1",
    [ADD_GROUP_DAY] = "INSERT INTO group_day VALUES(?1,?4,?5,?6)" ADDED MORE,
    [ADD_GROUP_VERSION] = "INSERT INTO group_version VALUES(?1,?2,?3,?5,?6,?7,?8)" ADDED MORE ", " SEEN,
    [ADD_GROUP_SYSTEM] = "INSERT INTO group_system VALUES(?1,?2,?5,?6)" ADDED MORE,
    [ADD_GROUP_LABEL] = "INSERT INTO group_label SELECT ?1, iif(" SQLITE_HAS_LABEL(
        "?1", "?2") " OR"
                    " (SELECT count(*) FROM group_label WHERE fingerprint = ?1) < " LABELS_MAX
                    ", ?2, ''), ?5, ?6 WHERE true" ADDED MORE,
    [ADD_GROUP_ORIGIN] = "INSERT INTO group_origin SELECT ?1, ?2, " KNOWN_ORIGIN(
        "group_origin", "fingerprint", ORIGINS_OF_GROUP_MAX) ", ?5, ?6 WHERE true" ADDED MORE,
    [ADD_GROUP_DURATION] = "INSERT INTO group_duration VALUES(?1,?2,?4,?5,?6)" ADDED MORE,
    [ADD_APP_DAY] = "INSERT INTO app_day VALUES(?1,?4,?2,?5,?6,?11)" ADDED MORE
                    ", hang_free = hang_free + excluded.hang_free",
    [ADD_VERSION_DAY] = "INSERT INTO version_day VALUES(?1,?2,?4,?5,?6,?13)" ADDED MORE ", " TIME("used"),
    [ADD_APP_VERSION] = "INSERT INTO app_version VALUES(?1,?2,?5,?6,?12,?13,?7,?8)" ADDED MORE
                        ", runs = runs + excluded.runs, " TIME("used") ", " SEEN,
    [ADD_APP_ORIGIN] = "INSERT INTO app_origin SELECT ?1, ?2, " KNOWN_ORIGIN(
        "app_origin", "app", ORIGINS_OF_APP_MAX) ", ?5, ?6, ?12, ?13, ?7, ?8 WHERE true" ADDED MORE
                                                 ", runs = runs + excluded.runs, " TIME("used") ", " SEEN,
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
        bind_text(q, 3, row->app);
        take_group(q, row);
    }
    if (strcmp(before, row->group.fingerprint) == 0 && row->session[0] != '\0' &&
        row->own_fingerprint[0] != '\0' && (q = sqlite_statement(s, FIND_ALIKE)) != NULL) {
        bind_text(q, 1, row->session);
        bind_text(q, 2, row->own_fingerprint);
        bind_text(q, 3, row->app);
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
    bind_text(q, 15, row->label);
    for (int i = 0; i < ORIGINS; i++) {
        bind_text(q, 16 + i, row->origin[i]);
    }
    return sqlite_done(q);
}

static void find_version(struct sqlite *s, struct row *row) {
    sqlite3_stmt *q = sqlite_statement(s, FIND_VERSION);
    if (q != NULL) {
        bind_text(q, 1, row->session);
        bind_text(q, 2, row->app);
        if (sqlite3_step(q) == SQLITE_ROW) {
            snprintf(row->version, sizeof row->version, "%s", (const char *)sqlite3_column_text(q, 0));
        }
        sqlite3_reset(q);
    }
}

bool sqlite_add_group(struct sqlite *s, const struct row *row) {
    const struct grouping *g = &row->group;
    struct sum *group = sqlite_sum(s, COUNT_GROUP, g->fingerprint, NULL);
    if (group == NULL || (group->is_there && (group->has_family || g->family[0] == '\0'))) {
        return group != NULL;
    }
    group->is_there = true;
    group->has_family = g->family[0] != '\0';
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
    struct sum *user = sqlite_sum(s, ADD_USER, row->group.fingerprint, row->who);
    if (user == NULL || user->is_there) {
        return user != NULL;
    }
    user->is_there = true;
    if (!sqlite_add_sum(s, ADD_USER, "ss", row->group.fingerprint, row->who)) {
        return false;
    }
    const int64_t users = sqlite3_changes(s->writes);
    struct sum *group = sqlite_sum(s, COUNT_GROUP, row->group.fingerprint, NULL);
    if (group != NULL) {
        group->users += users;
    }
    return group != NULL;
}

bool sqlite_count_report(struct sqlite *s, const struct row *row) {
    struct sum *group = sqlite_sum(s, COUNT_GROUP, row->group.fingerprint, NULL);
    if (group != NULL) {
        sum_add(group, 1, row->duration_ms, row->started_ms);
        group->max_ms = row->duration_ms > group->max_ms ? row->duration_ms : group->max_ms;
    }
    return group != NULL;
}

bool sqlite_count_row(struct sqlite *s, const struct row *row) {
    return sqlite_add_group(s, row) && sqlite_count_user(s, row) && sqlite_count_report(s, row);
}

bool sqlite_add_row(struct sqlite *s, struct row *row) {
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

/* All of it is on disk when COMMIT returns. */
static bool add_all(struct sqlite *s, struct row *const *rows, size_t count) {
    const bool is_busy = sqlite_is_busy(s, count);
    sqlite3_wal_autocheckpoint(s->writes, is_busy ? WAL_PAGES_BUSY : WAL_PAGES);
    bool added = ((is_busy && !sqlite_is_settling_due(s)) || sqlite_settle_arrived(s)) &&
                 sqlite_run(s->writes, "BEGIN IMMEDIATE");
    for (size_t i = 0; added && i < count; i++) {
        added = is_busy ? sqlite_append(s, rows[i]) : sqlite_add_row(s, rows[i]);
    }
    return added && sqlite_write_sums(s) && sqlite_run(s->writes, "COMMIT");
}

enum store_result sqlite_note_error(struct sqlite *s) {
    int error = sqlite3_errcode(s->writes), system = sqlite3_system_errno(s->writes);
    snprintf(s->error, sizeof s->error, "%s", sqlite3_errmsg(s->writes));
    sqlite_run(s->writes, "ROLLBACK");
    sqlite_forget_sums(s);
    return error == SQLITE_FULL || system == ENOSPC || system == EDQUOT ? STORE_FULL : STORE_FAILED;
}

enum store_result sqlite_add(void *file, struct row *const *rows, size_t count) {
    struct sqlite *s = file;
    enum store_result result = STORE_DONE;
    pthread_mutex_lock(&s->writing);
    if (!add_all(s, rows, count)) {
        result = sqlite_note_error(s);
        sqlite_forget_arrived(s, rows, count);
        for (size_t i = 0; i < count; i++) {
            rows[i]->outcome = ROW_PENDING;
        }
    }
    pthread_mutex_unlock(&s->writing);
    return result;
}
