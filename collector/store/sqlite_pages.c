/* SPDX-License-Identifier: MIT
 *
 * Queries of the pages of groups, apps and versions. They read sums, whose number grows with groups, versions
 * and days, not with reports. Any thread; one at a time.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector/report/why.h"
#include "collector/store/sqlite_private.h"

#define NEW_DAYS 7
/* Versions that have a series of their own; an app's others are added up as the version "". */
#define SERIES_VERSIONS 12

/* Hangs stand before errors, crashes and the use of CPUs, whose time is not hung time. */
#define GROUP_MEMBERS                                                                                                   \
    "g.fingerprint, g.app, g.function, g.place, g.cause, g.by_owner, g.users, g.max_ms, g.first_ms, g.last_ms, g.kind," \
    " (SELECT count(*) FROM group_version v WHERE v.fingerprint = g.fingerprint) AS versions"

/* Of app_day from a day on, of one app or all: the days of an app stand together in it. */
#define APP_DAYS(app)                                                                                     \
    " FROM app_day d WHERE app IN (SELECT DISTINCT app FROM app_version WHERE " app " = '' OR app = " app \
    ") AND day >= ?2"

static int64_t first_day(int days) {
    return (int64_t)time(NULL) / 86400 - days;
}

/* Numbers of these become true and false. */
static void set_flags(json_t *rows, const char *member) {
    json_t *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        json_object_set_new(row, member, json_boolean(json_integer_value(json_object_get(row, member)) != 0));
    }
}

static json_t *top_groups(struct sqlite *s, const char *app, int64_t day) {
    /* A group's days stand together: so the time of a page grows with the days that it shows. */
    static const char all[] =
        "SELECT " GROUP_MEMBERS
        ", t.count, t.total_ms, g.first_ms >= ?3 AS is_new FROM (SELECT g.fingerprint,"
        " sum(d.count) AS count, sum(d.total_ms) AS total_ms FROM grouped g INDEXED BY grouped_of_app"
        " CROSS JOIN group_day d ON d.fingerprint = g.fingerprint AND d.day >= ?2"
        " %s GROUP BY g.app, g.fingerprint ORDER BY g.kind = 'hang' DESC, 3 DESC, 2 DESC LIMIT 200) t"
        " JOIN grouped g USING(fingerprint) ORDER BY g.kind = 'hang' DESC, t.total_ms DESC, t.count DESC";
    char sql[sizeof all + 32];
    snprintf(sql, sizeof sql, all, app[0] != '\0' ? "WHERE g.app = ?1" : "");
    json_t *groups =
        sqlite_select(s, sql, "sii", app, day, ((int64_t)time(NULL) - NEW_DAYS * INT64_C(86400)) * 1000);
    set_flags(groups, "is_new");
    return groups;
}

/* The days of groups that a page shows. */
static json_t *days_of(struct sqlite *s, const json_t *groups, int64_t day) {
    json_t *all = json_array();
    const json_t *group;
    size_t i;
    sqlite3_stmt *q = sqlite_query(
        s, "SELECT day, total_ms FROM group_day WHERE fingerprint = ?1 AND day >= ?2 ORDER BY day");
    json_array_foreach(groups, i, group) {
        json_t *fingerprint = json_object_get(group, "fingerprint");
        if (q != NULL) {
            sqlite_bind(q, "si", json_string_value(fingerprint), day);
        }
        while (q != NULL && sqlite3_step(q) == SQLITE_ROW) {
            json_array_append_new(all, json_pack("{s:I, s:O, s:I}", "day", sqlite3_column_int64(q, 0),
                                                 "fingerprint", fingerprint, "total_ms",
                                                 sqlite3_column_int64(q, 1)));
        }
        sqlite3_reset(q);
    }
    sqlite3_finalize(q);
    return all;
}

json_t *sqlite_overview(void *file, const char *app, int days) {
    struct sqlite *s = file;
    int64_t day = first_day(days);
    json_t *all = json_object();
    pthread_mutex_lock(&s->reading);
    json_t *groups = top_groups(s, app, day);
    json_object_set_new(all, "days", days_of(s, groups, day));
    json_object_set_new(all, "groups", groups);
    json_object_set_new(
        all, "versions",
        sqlite_select(s,
                      "SELECT t.*, v.first_ms FROM (SELECT app, version, sum(iif(kind " HANG_KINDS
                      ", count, 0)) AS count, sum(iif(kind " HANG_KINDS ", total_ms, 0)) AS total_ms,"
                      " sum(iif(kind = 'session', total_ms, 0)) AS used_ms" APP_DAYS(
                          "?1") " GROUP BY 1, 2"
                                " ORDER BY 4 DESC LIMIT 50) t JOIN app_version v USING(app, version)"
                                " ORDER BY app, t.total_ms DESC",
                      "si", app, day));
    json_object_set_new(
        all, "series",
        sqlite_select(
            s,
            "WITH top AS MATERIALIZED (SELECT app, version" APP_DAYS(
                "?1") " AND kind " HANG_KINDS
                      " GROUP BY 1, 2 ORDER BY sum(total_ms) DESC LIMIT ?3) SELECT day, app,"
                      " iif((app, version) IN (SELECT app, version FROM top), version, '') AS version,"
                      " sum(iif(kind " HANG_KINDS ", count, 0)) AS count,"
                      " sum(iif(kind " HANG_KINDS ", total_ms, 0)) AS total_ms,"
                      " sum(iif(kind = 'session', total_ms, 0)) AS used_ms" APP_DAYS(
                          "?1") " GROUP BY 1, 2, 3",
            "sii", app, day, (int64_t)SERIES_VERSIONS));
    json_t *sessions = sqlite_select(
        s,
        "SELECT coalesce(sum(total_ms), 0) AS used_ms, coalesce(sum(count), 0) AS"
        " runs, coalesce(sum(hang_free), 0) AS hang_free" APP_DAYS("?1") " AND kind = 'session'",
        "si", app, day);
    const json_t *row = json_array_get(sessions, 0);
    json_object_set_new(all, "sessions",
                        json_pack("{s:O?, s:O?}", "runs", json_object_get(row, "runs"), "hang_free",
                                  json_object_get(row, "hang_free")));
    json_object_set_new(all, "used", sessions);
    json_object_set_new(all, "apps",
                        sqlite_select(s, "SELECT DISTINCT app FROM app_version ORDER BY 1 LIMIT 500", ""));
    pthread_mutex_unlock(&s->reading);
    return all;
}

json_t *sqlite_kinds(void *file, const char *app, int days) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    json_t *kinds = sqlite_select(
        s,
        "SELECT kind, sum(count) AS count, sum(total_ms) AS total_ms" APP_DAYS("?1") " GROUP BY 1 ORDER BY 1",
        "si", app, first_day(days));
    pthread_mutex_unlock(&s->reading);
    return kinds;
}

static void add_parts(struct sqlite *s, json_t *group, const char *fingerprint) {
    static const struct {
        const char *member, *sql;
    } parts[] = {
        {"versions", "SELECT version, count, total_ms, first_ms, last_ms, first_ms / 3600000 AS first_hour,"
                     " last_ms / 3600000 AS last_hour FROM group_version WHERE fingerprint = ?1"
                     " ORDER BY total_ms DESC LIMIT 50"},
        {"systems", "SELECT system, count, total_ms FROM group_system WHERE fingerprint = ?1"
                    " ORDER BY total_ms DESC LIMIT 50"},
        {"days",
         "SELECT day, count, total_ms FROM group_day WHERE fingerprint = ?1 ORDER BY day DESC LIMIT 90"},
        /* Each step of the histogram is twice as long as the one before: 2^i to 2^(i+1) ms. */
        {"durations", "SELECT step, sum(count) AS count FROM group_duration WHERE fingerprint = ?1"
                      " GROUP BY step ORDER BY step"},
        {"kinds", "SELECT kind, sum(count) AS count, sum(total_ms) AS total_ms FROM group_duration"
                  " WHERE fingerprint = ?1 GROUP BY kind ORDER BY kind"},
        {"reports", "SELECT id, kind, version, system, started_ms, duration_ms, brief FROM report"
                    " WHERE grouped = ?1 ORDER BY started_ms DESC LIMIT 50"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        json_object_set_new(group, parts[i].member, sqlite_select(s, parts[i].sql, "s", fingerprint));
    }
}

json_t *sqlite_group(void *file, const char *fingerprint) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    json_t *rows = sqlite_select(
        s,
        "SELECT *, coalesce((SELECT version FROM app_version v WHERE v.app = grouped.app"
        " ORDER BY first_ms DESC LIMIT 1), '') AS newest_version FROM grouped WHERE fingerprint = ?1",
        "s", fingerprint);
    json_t *group = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    if (group != NULL) {
        char why[WHY_BYTES];
        const char *path = json_string_value(json_object_get(group, "path"));
        json_object_set_new(group, "why", json_string(why_grouped(path != NULL ? path : "", why)));
        json_object_del(group, "family");
        json_object_del(group, "frames");
        add_parts(s, group, fingerprint);
    }
    pthread_mutex_unlock(&s->reading);
    return group;
}

static json_t *version_of(struct sqlite *s, const char *app, const char *version) {
    json_t *rows = sqlite_select(s,
                                 "SELECT version, count, total_ms, runs, used_ms, first_ms, last_ms"
                                 " FROM app_version WHERE app = ?1 AND version = ?2",
                                 "ss", app, version);
    json_t *row = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    return row;
}

json_t *sqlite_compare(void *file, const char *app, const char *from, const char *to) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    json_t *one = version_of(s, app, from), *other = one != NULL ? version_of(s, app, to) : NULL, *all = NULL;
    if (other != NULL) {
        json_t *groups = sqlite_select(
            s,
            "SELECT g.fingerprint, g.function, g.place, g.cause, t.from_ms, t.to_ms, t.from_count, t.to_count"
            " FROM (SELECT fingerprint, sum(iif(version = ?2, total_ms, 0)) AS from_ms,"
            " sum(iif(version = ?3, total_ms, 0)) AS to_ms, sum(iif(version = ?2, count, 0)) AS from_count,"
            " sum(iif(version = ?3, count, 0)) AS to_count FROM group_version WHERE app = ?1 AND version IN"
            " (?2, ?3) GROUP BY 1) t JOIN grouped g USING(fingerprint) WHERE g.kind = 'hang'"
            " ORDER BY max(from_ms, to_ms) DESC LIMIT 200",
            "sss", app, from, to);
        all = json_pack("{s:O, s:O, s:o}", "from", one, "to", other, "groups", groups);
    }
    json_decref(one);
    json_decref(other);
    pthread_mutex_unlock(&s->reading);
    return all;
}

json_t *sqlite_counts(void *file) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    json_t *rows = sqlite_select(s,
                                 "SELECT (SELECT count(*) FROM grouped) AS groups,"
                                 " (SELECT coalesce(sum(count), 0) FROM grouped) AS hangs",
                                 "");
    json_t *counts = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    pthread_mutex_unlock(&s->reading);
    return counts;
}

bool sqlite_is_in_later(void *file, const char *fingerprint, const struct store_issue *issue) {
    struct sqlite *s = file;
    pthread_mutex_lock(&s->reading);
    /* Reports know their start to the second; one of the same second counts if it came since. */
    json_t *rows = sqlite_select(
        s,
        "SELECT 1 FROM grouped g JOIN group_version v ON v.fingerprint = g.fingerprint AND v.app = g.app"
        " JOIN app_version a ON a.app = v.app AND a.version = v.version WHERE g.fingerprint = ?1"
        " AND g.count > ?2 AND v.last_ms >= ?3 AND a.first_ms >= coalesce((SELECT first_ms FROM app_version r"
        " WHERE r.app = g.app AND r.version = ?4), 0) LIMIT 1",
        "siis", fingerprint, issue->resolved_count, issue->resolved_ms / 1000 * 1000, issue->resolved_in);
    bool is = json_array_size(rows) > 0;
    json_decref(rows);
    pthread_mutex_unlock(&s->reading);
    return is;
}
