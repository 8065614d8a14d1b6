/* SPDX-License-Identifier: MIT
 *
 * Settings, and what people say of a group. Any thread.
 */
#include <stdio.h>
#include <string.h>

#include "collector/store/sqlite_private.h"

bool sqlite_setting_get(struct sqlite *s, const char *name, char value[STORE_SETTING_BYTES]) {
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *q = sqlite_query(s, "SELECT value FROM setting WHERE name = ?");
    bool found = q != NULL && sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
                 sqlite3_step(q) == SQLITE_ROW;
    if (found) {
        snprintf(value, STORE_SETTING_BYTES, "%s", (const char *)sqlite3_column_text(q, 0));
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
    return found;
}

bool sqlite_setting_set(struct sqlite *s, const char *name, const char *value) {
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

bool sqlite_issue_get(struct sqlite *s, const char *fingerprint, struct store_issue *issue) {
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *q = sqlite_query(
        s, "SELECT state, note, resolved_in, resolved_ms, resolved_count FROM issue WHERE fingerprint = ?");
    bool found = q != NULL && sqlite3_bind_text(q, 1, fingerprint, -1, SQLITE_STATIC) == SQLITE_OK &&
                 sqlite3_step(q) == SQLITE_ROW;
    if (found) {
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

bool sqlite_issue_set(struct sqlite *s, const char *fingerprint, const struct store_issue *issue) {
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
