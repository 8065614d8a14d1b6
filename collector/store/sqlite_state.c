/* SPDX-License-Identifier: MIT
 *
 * Settings, and what people say of a group. Any thread.
 */
#include <stdio.h>
#include <string.h>

#include "collector/store/sqlite_private.h"

/* Of the last step of a query that has one row at most. */
static enum store_found found_of(int step) {
    return step == SQLITE_ROW ? STORE_FOUND : step == SQLITE_DONE ? STORE_NONE : STORE_UNREAD;
}

static enum store_found setting_get(void *file, const char *name, char value[STORE_SETTING_BYTES]) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *q = sqlite_query(s, "SELECT value FROM setting WHERE name = ?");
    bool asks = q != NULL && sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC) == SQLITE_OK;
    enum store_found found = asks ? found_of(sqlite3_step(q)) : STORE_UNREAD;
    if (found == STORE_FOUND) {
        snprintf(value, STORE_SETTING_BYTES, "%s", (const char *)sqlite3_column_text(q, 0));
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
    return found;
}

static bool setting_set(void *file, const char *name, const char *value) {
    struct sqlite *s = file;
    sqlite3_stmt *q = NULL;
    pthread_mutex_lock(&s->writing);
    bool done =
        sqlite3_prepare_v2(
            s->writes, "INSERT INTO setting VALUES(?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            -1, &q, NULL) == SQLITE_OK &&
        sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_text(q, 2, value, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(q) == SQLITE_DONE;
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->writing);
    return done;
}

static enum store_found issue_get(void *file, const char *fingerprint, struct store_issue *issue) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *q = sqlite_query(
        s, "SELECT state, note, resolved_in, resolved_ms, resolved_count FROM issue WHERE fingerprint = ?");
    bool asks = q != NULL && sqlite3_bind_text(q, 1, fingerprint, -1, SQLITE_STATIC) == SQLITE_OK;
    enum store_found found = asks ? found_of(sqlite3_step(q)) : STORE_UNREAD;
    if (found == STORE_FOUND) {
        snprintf(issue->state, sizeof issue->state, "%s", (const char *)sqlite3_column_text(q, 0));
        snprintf(issue->note, sizeof issue->note, "%s", (const char *)sqlite3_column_text(q, 1));
        snprintf(issue->resolved_in, sizeof issue->resolved_in, "%s",
                 (const char *)sqlite3_column_text(q, 2));
        issue->resolved_ms = sqlite3_column_int64(q, 3);
        issue->resolved_count = sqlite3_column_int64(q, 4);
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
    return found;
}

static bool issue_set(void *file, const char *fingerprint, const struct store_issue *issue) {
    struct sqlite *s = file;
    sqlite3_stmt *q = NULL;
    pthread_mutex_lock(&s->writing);
    bool done = sqlite3_prepare_v2(s->writes, "INSERT OR REPLACE INTO issue VALUES(?, ?, ?, ?, ?, ?)", -1, &q,
                                   NULL) == SQLITE_OK;
    if (done) {
        sqlite_bind(q, "ssssii", fingerprint, issue->state, issue->note, issue->resolved_in,
                    issue->resolved_ms, issue->resolved_count);
        done = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->writing);
    return done;
}

static void copy_column(char *to, size_t size, sqlite3_stmt *q, int column) {
    snprintf(to, size, "%s", (const char *)sqlite3_column_text(q, column));
}

static bool marks(void *file, void (*take)(void *to, const struct store_mark *mark), void *to) {
    struct sqlite *s = file;
    int step = SQLITE_ERROR;
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *q =
        sqlite_query(s, "SELECT fingerprint, state, resolved_in, resolved_ms, resolved_count FROM issue"
                        " WHERE state <> 'open'");
    while (q != NULL && (step = sqlite3_step(q)) == SQLITE_ROW) {
        struct store_mark mark = {.resolved_ms = sqlite3_column_int64(q, 3),
                                  .resolved_count = sqlite3_column_int64(q, 4)};
        copy_column(mark.fingerprint, sizeof mark.fingerprint, q, 0);
        copy_column(mark.state, sizeof mark.state, q, 1);
        copy_column(mark.resolved_in, sizeof mark.resolved_in, q, 2);
        take(to, &mark);
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
    return step == SQLITE_DONE;
}

const struct state_backend sqlite_state = {
    .close = sqlite_close,
    .keys = sqlite_keys,
    .add_key = sqlite_add_key,
    .remove_key = sqlite_remove_key,
    .count_key = sqlite_count_key,
    .setting_get = setting_get,
    .setting_set = setting_set,
    .issue_get = issue_get,
    .issue_set = issue_set,
    .marks = marks,
};
