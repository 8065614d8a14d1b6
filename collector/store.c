/* SPDX-License-Identifier: MIT */
#include "collector/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/store_private.h"

#define VERSION 1
#define PAGE_BYTES 4096
#define BUSY_MS 5000

/* Times are milliseconds: sums of nanoseconds would overflow. `hour` counts hours since 1970. A `grouped` row
 * has its sums, so that a page need not add up reports. */
static const char tables[] =
    "CREATE TABLE key(id INTEGER PRIMARY KEY, use INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE, made_ms INTEGER NOT NULL) STRICT;"
    "CREATE TABLE report(id TEXT PRIMARY KEY, grouped TEXT, app TEXT NOT NULL, version TEXT NOT NULL, system TEXT NOT NULL,"
    " kind TEXT NOT NULL, cause TEXT NOT NULL, session TEXT NOT NULL, own_fingerprint TEXT NOT NULL, brief INTEGER NOT NULL,"
    " started_ms INTEGER NOT NULL, duration_ms INTEGER NOT NULL, received_ms INTEGER NOT NULL, body BLOB NOT NULL) STRICT;"
    "CREATE INDEX report_of_group ON report(grouped, started_ms);"
    "CREATE INDEX report_of_session ON report(session, own_fingerprint);"
    "CREATE TABLE grouped(fingerprint TEXT PRIMARY KEY, rule INTEGER NOT NULL, app TEXT NOT NULL, function TEXT NOT NULL,"
    " place TEXT NOT NULL, cause TEXT NOT NULL, by_owner INTEGER NOT NULL, path TEXT NOT NULL, count INTEGER NOT NULL,"
    " total_ms INTEGER NOT NULL, max_ms INTEGER NOT NULL, users INTEGER NOT NULL, first_ms INTEGER NOT NULL,"
    " last_ms INTEGER NOT NULL) STRICT;"
    "CREATE INDEX grouped_by_time ON grouped(total_ms);"
    "CREATE TABLE user(fingerprint TEXT NOT NULL, who TEXT NOT NULL, PRIMARY KEY(fingerprint, who)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE hour(fingerprint TEXT NOT NULL, hour INTEGER NOT NULL, version TEXT NOT NULL, system TEXT NOT NULL,"
    " count INTEGER NOT NULL, total_ms INTEGER NOT NULL,"
    " PRIMARY KEY(fingerprint, hour, version, system)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE usage(app TEXT NOT NULL, version TEXT NOT NULL, hour INTEGER NOT NULL, runs INTEGER NOT NULL,"
    " used_ms INTEGER NOT NULL, PRIMARY KEY(app, version, hour)) STRICT, WITHOUT ROWID;"
    "PRAGMA user_version = 1;";

static bool run(sqlite3 *db, const char *sql) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static int64_t number_of(sqlite3 *db, const char *sql) {
    sqlite3_stmt *q = NULL;
    int64_t number = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW) {
        number = sqlite3_column_int64(q, 0);
    }
    sqlite3_finalize(q);
    return number;
}

/* The file has paths and names of users' programs: others of this machine do not read it. */
static bool make_file(const char *path, struct problem *why) {
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        error_set(why, "cannot open the store %s: %s", path, fd < 0 ? strerror(errno) : "no regular file");
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    close(fd);
    return true;
}

static bool set_up(struct store *s, long limit_mib, struct problem *why, const char *path) {
    char limit[64];
    snprintf(limit, sizeof limit, "PRAGMA max_page_count = %lld", limit_mib * (1024LL * 1024 / PAGE_BYTES));
    sqlite3_busy_timeout(s->writes, BUSY_MS);
    sqlite3_busy_timeout(s->reads, BUSY_MS);
    /* FULL: each commit waits for the disk, so that an acknowledged report survives a loss of power. */
    bool done = run(s->writes, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    int64_t version = number_of(s->writes, "PRAGMA user_version");
    if (done && version == 0) {
        done = run(s->writes, "BEGIN IMMEDIATE") &&
               (number_of(s->writes, "PRAGMA user_version") != 0 || run(s->writes, tables)) &&
               run(s->writes, "COMMIT");
        version = number_of(s->writes, "PRAGMA user_version");
    }
    if (done && version != VERSION) {
        error_set(why, "cannot use the store %s: it has version %lld, and this hangdog knows %d", path,
                  (long long)version, VERSION);
        return false;
    }
    if (!done || (limit_mib > 0 && !run(s->writes, limit)) || !run(s->reads, "PRAGMA query_only = 1")) {
        error_set(why, "cannot use the store %s: %s", path, sqlite3_errmsg(s->writes));
        return false;
    }
    return true;
}

struct store *store_open(const char *path, long limit_mib, struct problem *why) {
    if (!make_file(path, why)) {
        return NULL;
    }
    struct store *s = calloc(1, sizeof *s);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (s == NULL || sqlite3_open_v2(path, &s->writes, flags, NULL) != SQLITE_OK ||
        sqlite3_open_v2(path, &s->reads, flags, NULL) != SQLITE_OK) {
        error_set(why, "cannot open the store %s: %s", path,
                  s != NULL ? sqlite3_errmsg(s->reads != NULL ? s->reads : s->writes) : "out of memory");
        store_close(s);
        return NULL;
    }
    pthread_mutex_init(&s->reading, NULL);
    if (!set_up(s, limit_mib, why, path)) {
        store_close(s);
        return NULL;
    }
    return s;
}

void store_close(struct store *s) {
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(s->statement[i]);
    }
    sqlite3_close(s->reads);
    sqlite3_close(s->writes);
    free(s);
}

const char *store_error(const struct store *s) {
    return s->error;
}

int store_keys(struct store *s, struct store_key *keys, int max) {
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *q = store_query(s, "SELECT id, use, hash FROM key ORDER BY id");
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

bool store_add_key(struct store *s, enum key_use use, const uint8_t hash[SHA256_BYTES]) {
    sqlite3_stmt *q = NULL;
    bool done =
        sqlite3_prepare_v2(s->writes, "INSERT INTO key(use, hash, made_ms) VALUES(?, ?, unixepoch() * 1000)",
                           -1, &q, NULL) == SQLITE_OK &&
        sqlite3_bind_int(q, 1, (int)use) == SQLITE_OK &&
        sqlite3_bind_blob(q, 2, hash, SHA256_BYTES, SQLITE_TRANSIENT) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_DONE;
    sqlite3_finalize(q);
    return done;
}
