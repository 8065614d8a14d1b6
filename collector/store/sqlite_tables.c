/* SPDX-License-Identifier: MIT
 *
 * The tables, as the steps that made them: PRAGMA user_version says how many of the steps a file has. A
 * change is one more step; an older step is never edited, since files exist that have it.
 *
 * Times are milliseconds: sums of nanoseconds would overflow. `hour` counts hours since 1970. A `grouped` row
 * has its sums, so that a page need not add up reports.
 */
#include <stdio.h>

#include "collector/store/sqlite_private.h"

static const char *const steps[] = {
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
    " used_ms INTEGER NOT NULL, PRIMARY KEY(app, version, hour)) STRICT, WITHOUT ROWID;",

    "CREATE TABLE setting(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"};

#define STEPS ((int)(sizeof steps / sizeof steps[0]))

/* Another collector may renew the same file: the version is read again within the transaction. */
static bool apply(sqlite3 *db, int step) {
    char version[64];
    snprintf(version, sizeof version, "PRAGMA user_version = %d", step + 1);
    if (!sqlite_run(db, "BEGIN IMMEDIATE")) {
        return false;
    }
    bool lacks = sqlite_number(db, "PRAGMA user_version") == step;
    if ((!lacks || (sqlite_run(db, steps[step]) && sqlite_run(db, version))) && sqlite_run(db, "COMMIT")) {
        return true;
    }
    sqlite_run(db, "ROLLBACK");
    return false;
}

bool sqlite_tables_renew(sqlite3 *db, const char *path, struct problem *why) {
    int64_t version = sqlite_number(db, "PRAGMA user_version");
    if (version < 0 || version > STEPS) {
        error_set(why, "cannot use the store %s: it has version %lld, and this hangdog knows %d", path,
                  (long long)version, STEPS);
        return false;
    }
    for (int step = (int)version; step < STEPS; step++) {
        if (!apply(db, step)) {
            error_set(why, "cannot renew the tables of the store %s: %s", path, sqlite3_errmsg(db));
            return false;
        }
    }
    return true;
}
