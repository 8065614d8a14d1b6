/* SPDX-License-Identifier: MIT
 *
 * The pages' queries, with the members of those of sqlite_pages.c. Any thread; one at a time.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/clickhouse_private.h"

#define HANG_KINDS "kind IN ('hang', 'launch', 'background-hang', 'fatal-hang')"
#define NEW_MS (INT64_C(7) * 86400000)
#define GROUPS                                                                                                   \
    "(SELECT fingerprint, any(app) AS app, any(function) AS function, any(place) AS place, any(cause) AS cause," \
    " any(by_owner) AS by_owner, any(path) AS path, any(rule) AS rule, any(group_kind) AS kind FROM @grouped"
#define TOTALS "countMerge(n) AS count, sumMerge(total) AS total_ms"
#define LIFE                                                                                                       \
    "uniqMerge(users) AS users, maxMerge(most) AS max_ms, minMerge(first) AS first_ms, maxMerge(last) AS last_ms," \
    " uniqExact(version) AS versions"

static int64_t first_hour(int days) {
    return ((int64_t)time(NULL) / 86400 - days) * 24;
}

static void set_flags(json_t *rows, const char *member) {
    json_t *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        json_object_set_new(row, member, json_boolean(json_integer_value(json_object_get(row, member)) != 0));
    }
}

#define ROWS(...) clickhouse_rows(c, &c->reads, __VA_ARGS__)

static json_t *first_of(json_t *rows) {
    json_t *row = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    return row;
}

static json_t *top_groups(struct clickhouse *c, const char *app, int64_t hour) {
    json_t *groups = ROWS(
        "SELECT fingerprint, app, function, place, cause, by_owner, users, max_ms, first_ms, last_ms, versions, count,"
        " total_ms, first_ms >= ?i AS is_new FROM (SELECT fingerprint, " LIFE
        ", countMergeIf(n, hour >= ?i) AS count,"
        " sumMergeIf(total, hour >= ?i) AS total_ms FROM @hour WHERE fingerprint <> '' AND (?s = '' OR app = ?s)"
        " AND " HANG_KINDS
        " GROUP BY fingerprint HAVING count > 0 ORDER BY total_ms DESC LIMIT 200) ANY INNER JOIN " GROUPS
        " GROUP BY fingerprint) USING fingerprint ORDER BY total_ms DESC",
        (int64_t)time(NULL) * 1000 - NEW_MS, hour, hour, app, app);
    set_flags(groups, "is_new");
    return groups;
}

json_t *clickhouse_overview(void *at, const char *app, int days) {
    struct clickhouse *c = at;
    int64_t hour = first_hour(days);
    pthread_mutex_lock(&c->reads.lock);
    json_t *all = json_object(), *groups = top_groups(c, app, hour);
    if (groups == NULL) {
        pthread_mutex_unlock(&c->reads.lock);
        json_decref(all);
        return NULL;
    }
    json_object_set_new(all, "groups", groups);
    json_object_set_new(
        all, "days",
        ROWS("SELECT intDiv(hour, 24) AS day, fingerprint, sumMerge(total) AS total_ms FROM @hour WHERE"
             " hour >= ?i AND fingerprint <> '' AND (?s = '' OR app = ?s) AND " HANG_KINDS
             " GROUP BY day, fingerprint ORDER BY day",
             hour, app, app));
    json_object_set_new(
        all, "versions",
        ROWS(
            "SELECT app, version, countMergeIf(n, " HANG_KINDS ") AS count, sumMergeIf(total, " HANG_KINDS
            ") AS total_ms, sumMergeIf(total, kind = 'session') AS used_ms, minMerge(first) AS first_ms FROM @hour"
            " WHERE hour >= ?i AND (?s = '' OR app = ?s) GROUP BY app, version ORDER BY app, total_ms DESC LIMIT 50",
            hour, app, app));
    json_object_set_new(
        all, "series",
        ROWS(
            "SELECT intDiv(hour, 24) AS day, app, version, countMergeIf(n, " HANG_KINDS
            ") AS count, sumMergeIf(total, " HANG_KINDS
            ") AS total_ms, sumMergeIf(total, kind = 'session') AS used_ms"
            " FROM @hour WHERE hour >= ?i AND (?s = '' OR app = ?s) GROUP BY day, app, version ORDER BY day, app, version",
            hour, app, app));
    json_t *sessions = ROWS(
        "SELECT sumMerge(total) AS used_ms, countMerge(n) AS runs, sumMerge(free) AS hang_free FROM @hour"
        " WHERE kind = 'session' AND hour >= ?i AND (?s = '' OR app = ?s)",
        hour, app, app);
    const json_t *row = json_array_get(sessions, 0);
    json_object_set_new(all, "sessions",
                        json_pack("{s:O?, s:O?}", "runs", json_object_get(row, "runs"), "hang_free",
                                  json_object_get(row, "hang_free")));
    json_object_set_new(all, "used", sessions);
    json_object_set_new(all, "apps", ROWS("SELECT DISTINCT app FROM @hour ORDER BY app LIMIT 500"));
    pthread_mutex_unlock(&c->reads.lock);
    return all;
}

json_t *clickhouse_kinds(void *at, const char *app, int days) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->reads.lock);
    json_t *kinds = ROWS("SELECT kind, " TOTALS " FROM @hour WHERE hour >= ?i AND (?s = '' OR app = ?s)"
                         " GROUP BY kind ORDER BY kind",
                         first_hour(days), app, app);
    pthread_mutex_unlock(&c->reads.lock);
    return kinds;
}

static void add_parts(struct clickhouse *c, json_t *group, const char *fingerprint) {
    static const struct {
        const char *member, *sql;
    } parts[] = {
        {"versions",
         "SELECT version, " TOTALS ", minMerge(first) AS first_ms, maxMerge(last) AS last_ms,"
         " intDiv(first_ms, 3600000) AS first_hour, intDiv(last_ms, 3600000) AS last_hour FROM @hour"
         " WHERE fingerprint = ?s GROUP BY version ORDER BY total_ms DESC LIMIT 50"},
        {"systems", "SELECT system, " TOTALS " FROM @hour WHERE fingerprint = ?s GROUP BY system"
                    " ORDER BY total_ms DESC LIMIT 50"},
        {"days", "SELECT intDiv(hour, 24) AS day, " TOTALS " FROM @hour WHERE fingerprint = ?s GROUP BY day"
                 " ORDER BY day DESC LIMIT 90"},
        {"durations",
         "SELECT step, countMerge(n) AS count FROM @hour WHERE fingerprint = ?s GROUP BY step ORDER BY step"},
        {"kinds", "SELECT kind, " TOTALS " FROM @hour WHERE fingerprint = ?s GROUP BY kind ORDER BY kind"},
        {"reports",
         "SELECT id, any(kind) AS kind, any(version) AS version, any(system) AS system,"
         " any(started_ms) AS started_ms, any(duration_ms) AS duration_ms, any(brief) AS brief FROM @report"
         " WHERE fingerprint = ?s GROUP BY id ORDER BY started_ms DESC LIMIT 50"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        json_object_set_new(group, parts[i].member, ROWS(parts[i].sql, fingerprint));
    }
}

json_t *clickhouse_group(void *at, const char *fingerprint) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->reads.lock);
    json_t *group = first_of(ROWS("SELECT * FROM (SELECT fingerprint, " TOTALS ", " LIFE
                                  " FROM @hour WHERE fingerprint = ?s GROUP BY fingerprint)"
                                  " ANY INNER JOIN " GROUPS
                                  " WHERE fingerprint = ?s GROUP BY fingerprint) USING fingerprint",
                                  fingerprint, fingerprint));
    if (group != NULL) {
        json_object_set(group, "why", json_object_get(group, "path"));
        json_t *newest = first_of(
            ROWS("SELECT version, minMerge(first) AS first_ms FROM @hour WHERE app = ?s GROUP BY version"
                 " ORDER BY first_ms DESC LIMIT 1",
                 json_string_value(json_object_get(group, "app"))));
        json_object_set(group, "newest_version", json_object_get(newest, "version"));
        json_decref(newest);
        add_parts(c, group, fingerprint);
    }
    pthread_mutex_unlock(&c->reads.lock);
    return group;
}

static json_t *version_of(struct clickhouse *c, const char *app, const char *version) {
    return first_of(ROWS(
        "SELECT version, countMergeIf(n, " HANG_KINDS ") AS count, sumMergeIf(total, " HANG_KINDS
        ") AS total_ms, countMergeIf(n, kind = 'session') AS runs, sumMergeIf(total, kind = 'session') AS"
        " used_ms, minMerge(first) AS first_ms, maxMerge(last) AS last_ms FROM @hour WHERE app = ?s AND"
        " version = ?s GROUP BY version",
        app, version));
}

json_t *clickhouse_compare(void *at, const char *app, const char *from, const char *to) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->reads.lock);
    json_t *one = version_of(c, app, from), *other = one != NULL ? version_of(c, app, to) : NULL, *all = NULL;
    json_t *groups =
        other == NULL
            ? NULL
            : ROWS(
                  "SELECT fingerprint, function, place, cause, from_ms, to_ms, from_count, to_count FROM (SELECT fingerprint,"
                  " sumMergeIf(total, version = ?s) AS from_ms, sumMergeIf(total, version = ?s) AS to_ms,"
                  " countMergeIf(n, version = ?s) AS from_count, countMergeIf(n, version = ?s) AS to_count FROM @hour WHERE"
                  " app = ?s AND version IN (?s, ?s) AND fingerprint <> '' AND " HANG_KINDS
                  " GROUP BY fingerprint ORDER BY greatest(from_ms, to_ms) DESC LIMIT 200) ANY INNER JOIN " GROUPS
                  " GROUP BY fingerprint) USING fingerprint ORDER BY greatest(from_ms, to_ms) DESC",
                  from, to, from, to, app, from, to);
    if (groups != NULL) {
        all = json_pack("{s:O, s:O, s:o}", "from", one, "to", other, "groups", groups);
    }
    json_decref(one);
    json_decref(other);
    pthread_mutex_unlock(&c->reads.lock);
    return all;
}

json_t *clickhouse_counts(void *at) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->reads.lock);
    json_t *counts = first_of(ROWS(
        "SELECT uniqExact(fingerprint) AS groups, countMerge(n) AS hangs FROM @hour WHERE fingerprint <> ''"));
    pthread_mutex_unlock(&c->reads.lock);
    return counts;
}

bool clickhouse_is_in_later(void *at, const char *fingerprint, const struct store_issue *issue) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->reads.lock);
    json_t *group = first_of(ROWS(
        "SELECT any(app) AS app, countMerge(n) AS count FROM @hour WHERE fingerprint = ?s", fingerprint));
    const char *app = json_string_value(json_object_get(group, "app"));
    json_t *first =
        app != NULL
            ? first_of(ROWS("SELECT minMerge(first) AS first_ms FROM @hour WHERE app = ?s AND version = ?s"
                            " GROUP BY version",
                            app, issue->resolved_in))
            : NULL;
    json_t *later = first_of(ROWS(
        "SELECT count() AS versions FROM (SELECT version, maxMerge(last) AS last_ms FROM @hour WHERE fingerprint = ?s"
        " GROUP BY version HAVING last_ms >= ?i) ANY INNER JOIN (SELECT version, minMerge(first) AS first_ms FROM @hour"
        " WHERE app = ?s GROUP BY version HAVING first_ms >= ?i) USING version",
        fingerprint, issue->resolved_ms / 1000 * 1000, app != NULL ? app : "",
        (int64_t)json_integer_value(json_object_get(first, "first_ms"))));
    bool is = json_integer_value(json_object_get(group, "count")) > issue->resolved_count &&
              json_integer_value(json_object_get(later, "versions")) > 0;
    json_decref(group);
    json_decref(first);
    json_decref(later);
    pthread_mutex_unlock(&c->reads.lock);
    return is;
}
