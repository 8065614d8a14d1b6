/* SPDX-License-Identifier: MIT
 *
 * Keys: their hashes, apps and counts. Any thread.
 */
#include <stdio.h>
#include <string.h>

#include "collector/store/sqlite_private.h"

static void read_key(sqlite3_stmt *q, struct store_key *key) {
    const char *app = (const char *)sqlite3_column_text(q, 3);
    memset(key, 0, sizeof *key);
    key->id = sqlite3_column_int64(q, 0);
    key->use = (enum key_use)sqlite3_column_int(q, 1);
    memcpy(key->hash, sqlite3_column_blob(q, 2), SHA256_BYTES);
    snprintf(key->app, sizeof key->app, "%s", app != NULL ? app : "");
    key->made_ms = sqlite3_column_int64(q, 4);
    key->last_used_ms = sqlite3_column_int64(q, 5);
    key->day = sqlite3_column_int64(q, 6);
    key->day_reports = sqlite3_column_int64(q, 7);
}

int sqlite_keys(void *file, struct store_key *keys, int max) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *q = sqlite_query(
        s, "SELECT id, use, hash, app, made_ms, last_used_ms, day, day_reports FROM key ORDER BY id");
    int count = q != NULL ? 0 : -1, rc = SQLITE_DONE;
    while (q != NULL && count < max && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        int use = sqlite3_column_int(q, 1);
        if (sqlite3_column_bytes(q, 2) == SHA256_BYTES && use >= 0 && use < KEY_USES) {
            read_key(q, &keys[count++]);
        }
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? count : -1;
}

/* Runs a statement and frees it; how many rows it changed, -1: it failed. The caller has the lock. */
static int change(struct sqlite *s, sqlite3_stmt *q) {
    int changed = q != NULL && sqlite3_step(q) == SQLITE_DONE ? sqlite3_changes(s->writes) : -1;
    sqlite3_finalize(q);
    return changed;
}

static sqlite3_stmt *prepare(struct sqlite *s, const char *sql) {
    sqlite3_stmt *q = NULL;
    return sqlite3_prepare_v2(s->writes, sql, -1, &q, NULL) == SQLITE_OK ? q : NULL;
}

int64_t sqlite_add_key(void *file, enum key_use use, const char *app, const uint8_t hash[SHA256_BYTES]) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->writing);
    /* The number of a removed key is not given again: a log names keys by it. */
    sqlite3_stmt *q =
        prepare(s, "INSERT INTO key(id, use, hash, app, made_ms) VALUES("
                   "(SELECT 1 + max(coalesce((SELECT max(id) FROM key), 0),"
                   " coalesce((SELECT CAST(value AS INTEGER) FROM setting WHERE name = 'last_key'), 0))),"
                   " ?, ?, ?, unixepoch() * 1000)");
    if (q != NULL) {
        sqlite3_bind_int(q, 1, (int)use);
        sqlite3_bind_blob(q, 2, hash, SHA256_BYTES, SQLITE_TRANSIENT);
        sqlite3_bind_text(q, 3, app, -1, SQLITE_TRANSIENT);
    }
    int64_t id = change(s, q) == 1 ? sqlite3_last_insert_rowid(s->writes) : -1;
    if (id > 0 &&
        (q = prepare(s, "INSERT INTO setting VALUES('last_key', ?) ON CONFLICT DO UPDATE SET value = "
                        "excluded.value")) != NULL) {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)id);
        sqlite3_bind_text(q, 1, text, -1, SQLITE_TRANSIENT);
        change(s, q);
    }
    pthread_mutex_unlock(&s->writing);
    return id;
}

enum store_found sqlite_remove_key(void *file, int64_t id) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->writing);
    sqlite3_stmt *q = prepare(s, "DELETE FROM key WHERE id = ?");
    if (q != NULL) {
        sqlite3_bind_int64(q, 1, id);
    }
    int removed = change(s, q);
    pthread_mutex_unlock(&s->writing);
    return removed < 0 ? STORE_UNREAD : removed == 1 ? STORE_FOUND : STORE_NONE;
}

bool sqlite_count_key(void *file, int64_t id, int64_t used_ms, int64_t day, int64_t reports) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->writing);
    sqlite3_stmt *q =
        prepare(s, "UPDATE key SET last_used_ms = max(last_used_ms, ?2), day = ?3,"
                   " day_reports = CASE WHEN day = ?3 THEN day_reports + ?4 ELSE ?4 END WHERE id = ?1");
    if (q != NULL) {
        sqlite3_bind_int64(q, 1, id);
        sqlite3_bind_int64(q, 2, used_ms);
        sqlite3_bind_int64(q, 3, day);
        sqlite3_bind_int64(q, 4, reports);
    }
    bool done = change(s, q) >= 0;
    pthread_mutex_unlock(&s->writing);
    return done;
}
