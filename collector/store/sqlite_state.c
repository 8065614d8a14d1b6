/* SPDX-License-Identifier: MIT
 *
 * Keys, settings, and what people say of a group. Any thread.
 */
#include <stdio.h>
#include <string.h>

#include "collector/store/sqlite_private.h"

int sqlite_keys(struct sqlite *s, struct store_key *keys, int max) {
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *q = sqlite_query(s, "SELECT id, use, hash FROM key ORDER BY id");
    int count = q != NULL ? 0 : -1;
    while (q != NULL && count < max && sqlite3_step(q) == SQLITE_ROW) {
        int use = sqlite3_column_int(q, 1);
        if (sqlite3_column_bytes(q, 2) == SHA256_BYTES && use >= 0 && use < KEY_USES) {
            keys[count].id = sqlite3_column_int64(q, 0);
            keys[count].use = (enum key_use)use;
            memcpy(keys[count++].hash, sqlite3_column_blob(q, 2), SHA256_BYTES);
        }
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
    return count;
}

bool sqlite_add_key(struct sqlite *s, enum key_use use, const uint8_t hash[SHA256_BYTES]) {
    sqlite3_stmt *q = NULL;
    pthread_mutex_lock(&s->writing);
    bool done =
        sqlite3_prepare_v2(s->writes, "INSERT INTO key(use, hash, made_ms) VALUES(?, ?, unixepoch() * 1000)",
                           -1, &q, NULL) == SQLITE_OK &&
        sqlite3_bind_int(q, 1, (int)use) == SQLITE_OK &&
        sqlite3_bind_blob(q, 2, hash, SHA256_BYTES, SQLITE_TRANSIENT) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_DONE;
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->writing);
    return done;
}

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
