/* SPDX-License-Identifier: MIT
 *
 * The tables, as the steps that made them: PRAGMA user_version says how many of the steps a file has. A
 * change is one more step; an older step is never edited, since files exist that have it.
 *
 * Times are milliseconds: sums of nanoseconds would overflow. `day` counts days since 1970. A page adds up
 * sums that grow with groups, versions and days, and no reports. In app_day a row of kind `session` has runs
 * as its count and the time of use as its time. In version_day count and time are those of hangs.
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

    "CREATE TABLE setting(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;",

    "ALTER TABLE grouped ADD COLUMN kind TEXT NOT NULL DEFAULT 'hang';"
    "CREATE INDEX grouped_of_app ON grouped(app, fingerprint);"
    "CREATE TABLE group_day(fingerprint TEXT NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL,"
    " total_ms INTEGER NOT NULL, PRIMARY KEY(fingerprint, day)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE group_version(app TEXT NOT NULL, version TEXT NOT NULL, fingerprint TEXT NOT NULL,"
    " count INTEGER NOT NULL, total_ms INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,"
    " PRIMARY KEY(app, version, fingerprint)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX version_of_group ON group_version(fingerprint);"
    "CREATE TABLE group_system(fingerprint TEXT NOT NULL, system TEXT NOT NULL, count INTEGER NOT NULL,"
    " total_ms INTEGER NOT NULL, PRIMARY KEY(fingerprint, system)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE group_duration(fingerprint TEXT NOT NULL, kind TEXT NOT NULL, step INTEGER NOT NULL,"
    " count INTEGER NOT NULL, total_ms INTEGER NOT NULL, PRIMARY KEY(fingerprint, kind, step)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE app_day(app TEXT NOT NULL, day INTEGER NOT NULL, version TEXT NOT NULL, kind TEXT NOT NULL,"
    " count INTEGER NOT NULL, total_ms INTEGER NOT NULL, hang_free INTEGER NOT NULL,"
    " PRIMARY KEY(app, day, version, kind)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE app_version(app TEXT NOT NULL, version TEXT NOT NULL, count INTEGER NOT NULL,"
    " total_ms INTEGER NOT NULL, runs INTEGER NOT NULL, used_ms INTEGER NOT NULL, first_ms INTEGER NOT NULL,"
    " last_ms INTEGER NOT NULL, PRIMARY KEY(app, version)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE issue(fingerprint TEXT PRIMARY KEY, state TEXT NOT NULL, note TEXT NOT NULL,"
    " resolved_in TEXT NOT NULL, resolved_ms INTEGER NOT NULL, resolved_count INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE INDEX report_of_version ON report(grouped, version, started_ms);"
    "CREATE INDEX report_of_kind ON report(kind, started_ms) WHERE kind NOT IN ('hang', 'session');"
    "CREATE INDEX report_of_app_kind ON report(app, kind, started_ms) WHERE kind NOT IN ('hang', 'session');"
    "INSERT INTO group_day SELECT fingerprint, hour / 24, sum(count), sum(total_ms) FROM hour GROUP BY 1, 2;"
    "INSERT INTO group_system SELECT fingerprint, system, sum(count), sum(total_ms) FROM hour GROUP BY 1, 2;"
    "INSERT INTO group_version SELECT g.app, h.version, h.fingerprint, sum(h.count), sum(h.total_ms),"
    " min(h.hour) * 3600000, max(h.hour) * 3600000 FROM hour h JOIN grouped g USING(fingerprint) GROUP BY 1, 2, 3;"
    "INSERT INTO group_duration SELECT grouped, kind, CAST(log2(max(duration_ms, 1)) AS INTEGER), count(*),"
    " sum(duration_ms) FROM report WHERE grouped IS NOT NULL GROUP BY 1, 2, 3;"
    "INSERT INTO app_day SELECT app, started_ms / 86400000, version, kind, count(*), sum(duration_ms), 0"
    " FROM report WHERE kind <> 'session' GROUP BY 1, 2, 3, 4;"
    "INSERT INTO app_day SELECT app, hour / 24, version, 'session', sum(runs), sum(used_ms), 0 FROM usage GROUP BY 1, 2, 3;"
    "INSERT INTO app_version SELECT app, version, sum(iif(kind IN ('hang', 'launch', 'background-hang', 'fatal-hang'), count, 0)),"
    " sum(iif(kind IN ('hang', 'launch', 'background-hang', 'fatal-hang'), total_ms, 0)), sum(iif(kind = 'session', count, 0)),"
    " sum(iif(kind = 'session', total_ms, 0)), min(day) * 86400000, max(day) * 86400000 FROM app_day GROUP BY 1, 2;"
    "DROP TABLE hour; DROP TABLE usage;",

    /* `way`: the group of each fingerprint. Groups of an older rule are not compared. */
    "ALTER TABLE grouped ADD COLUMN family TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE grouped ADD COLUMN frames TEXT NOT NULL DEFAULT '';"
    "CREATE INDEX grouped_of_family ON grouped(family) WHERE family <> '';"
    "CREATE TABLE way(fingerprint TEXT PRIMARY KEY, grouped TEXT NOT NULL) STRICT, WITHOUT ROWID;",

    "ALTER TABLE key ADD COLUMN app TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE key ADD COLUMN last_used_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE key ADD COLUMN day INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE key ADD COLUMN day_reports INTEGER NOT NULL DEFAULT 0;",

    /* Debug files that reports wait for. */
    "CREATE TABLE unnamed(build_id TEXT NOT NULL, report TEXT NOT NULL, PRIMARY KEY(build_id, report)) STRICT, WITHOUT ROWID;",

    /* A page of all versions read the days of each kind and version. */
    "CREATE TABLE version_day(app TEXT NOT NULL, version TEXT NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL,"
    " total_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL, PRIMARY KEY(app, version, day)) STRICT, WITHOUT ROWID;"
    "INSERT INTO version_day SELECT app, version, day, sum(iif(kind IN ('hang', 'launch', 'background-hang', 'fatal-hang'), count, 0)),"
    " sum(iif(kind IN ('hang', 'launch', 'background-hang', 'fatal-hang'), total_ms, 0)), sum(iif(kind = 'session', total_ms, 0))"
    " FROM app_day GROUP BY 1, 2, 3;"
    "ALTER TABLE app_day RENAME TO old_day;"
    "CREATE TABLE app_day(app TEXT NOT NULL, day INTEGER NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL,"
    " total_ms INTEGER NOT NULL, hang_free INTEGER NOT NULL, PRIMARY KEY(app, day, kind)) STRICT, WITHOUT ROWID;"
    "INSERT INTO app_day SELECT app, day, kind, sum(count), sum(total_ms), sum(hang_free) FROM old_day GROUP BY 1, 2, 3;"
    "DROP TABLE old_day; DROP INDEX grouped_by_time; DROP INDEX grouped_of_app;"
    "CREATE INDEX grouped_by_time ON grouped(kind = 'hang', total_ms, app);",

    /* Reports of a busy store, for a moment: sqlite_arrived.c. */
    "CREATE TABLE arrived(id TEXT NOT NULL, repeat_of TEXT NOT NULL, app TEXT NOT NULL, version TEXT NOT NULL,"
    " system TEXT NOT NULL, kind TEXT NOT NULL, cause TEXT NOT NULL, who TEXT NOT NULL, session TEXT NOT NULL,"
    " own_fingerprint TEXT NOT NULL, fingerprint TEXT NOT NULL, function TEXT NOT NULL, place TEXT NOT NULL,"
    " path TEXT NOT NULL, family TEXT NOT NULL, frames TEXT NOT NULL, unnamed TEXT NOT NULL,"
    " started_ms INTEGER NOT NULL, duration_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL, flags INTEGER NOT NULL,"
    " body BLOB NOT NULL) STRICT;",

    /* The label "" has the reports of all labels that found no place: LABELS_MAX. */
    "ALTER TABLE report ADD COLUMN label TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE arrived ADD COLUMN label TEXT NOT NULL DEFAULT '';"
    "CREATE TABLE group_label(fingerprint TEXT NOT NULL, label TEXT NOT NULL, count INTEGER NOT NULL,"
    " total_ms INTEGER NOT NULL, PRIMARY KEY(fingerprint, label)) STRICT, WITHOUT ROWID;",

    /* `part`: host, unit, container or image. The name "" has the reports of all names that found no place.
     */
    "ALTER TABLE report ADD COLUMN host TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE report ADD COLUMN unit TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE report ADD COLUMN container TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE report ADD COLUMN image TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE arrived ADD COLUMN host TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE arrived ADD COLUMN unit TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE arrived ADD COLUMN container TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE arrived ADD COLUMN image TEXT NOT NULL DEFAULT '';"
    "CREATE INDEX report_of_host ON report(grouped, host, started_ms) WHERE host <> '';"
    "CREATE TABLE group_origin(fingerprint TEXT NOT NULL, part TEXT NOT NULL, name TEXT NOT NULL,"
    " count INTEGER NOT NULL, total_ms INTEGER NOT NULL, PRIMARY KEY(fingerprint, part, name)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX group_of_origin ON group_origin(part, name);"
    "CREATE TABLE app_origin(app TEXT NOT NULL, part TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,"
    " total_ms INTEGER NOT NULL, runs INTEGER NOT NULL, used_ms INTEGER NOT NULL, first_ms INTEGER NOT NULL,"
    " last_ms INTEGER NOT NULL, PRIMARY KEY(app, part, name)) STRICT, WITHOUT ROWID;"};

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
