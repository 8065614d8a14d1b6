/* SPDX-License-Identifier: MIT
 *
 * Queries of the pages of groups, apps and versions, but for the overview. They read sums, whose number grows
 * with groups, versions and days, not with reports. Any thread; one at a time.
 */
#include <string.h>

#include "collector/report/why.h"
#include "collector/store/sqlite_private.h"

json_t *sqlite_kinds(void *file, const char *app, int days) {
    struct sqlite *s = file;
    sqlite_start_reading(s);
    json_t *kinds = sqlite_select(
        s, "SELECT kind, sum(count) AS count, sum(total_ms) AS total_ms" OF_APP_DAY " GROUP BY 1 ORDER BY 1",
        "si", app, sqlite_first_day(days));
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
        {"labels",
         "SELECT iif(place <= 50, name, '') AS label, sum(count) AS count, sum(total_ms) AS total_ms"
         " FROM (SELECT label AS name, count, total_ms, row_number() OVER (ORDER BY label = '', total_ms"
         " DESC) AS place FROM group_label WHERE fingerprint = ?1)"
         " GROUP BY 1 ORDER BY label = '', 3 DESC"},
        {"days",
         "SELECT day, count, total_ms FROM group_day WHERE fingerprint = ?1 ORDER BY day DESC LIMIT 90"},
        /* Each step of the histogram is twice as long as the one before: 2^i to 2^(i+1) ms. */
        {"durations", "SELECT step, sum(count) AS count FROM group_duration WHERE fingerprint = ?1"
                      " GROUP BY step ORDER BY step"},
        {"kinds", "SELECT kind, sum(count) AS count, sum(total_ms) AS total_ms FROM group_duration"
                  " WHERE fingerprint = ?1 GROUP BY kind ORDER BY kind"},
        {"reports",
         "SELECT id, kind, version, system, started_ms, duration_ms, brief, host, unit, container FROM report"
         " WHERE grouped = ?1 ORDER BY started_ms DESC LIMIT 50"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        json_object_set_new(group, parts[i].member, sqlite_select(s, parts[i].sql, "s", fingerprint));
    }
    sqlite_add_origins(s, fingerprint, group);
}

json_t *sqlite_group(void *file, const char *fingerprint) {
    struct sqlite *s = file;
    sqlite_start_reading(s);
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

json_t *sqlite_versions(void *file, const char *app) {
    struct sqlite *s = file;
    sqlite_start_reading(s);
    json_t *versions =
        sqlite_select(s,
                      "SELECT app, version, count, total_ms, used_ms, first_ms, last_ms FROM app_version"
                      " WHERE ?1 = '' OR app = ?1 ORDER BY first_ms DESC, app, version LIMIT 200",
                      "s", app);
    json_t *apps = sqlite_apps(s);
    pthread_mutex_unlock(&s->reading);
    return json_pack("{s:o, s:o}", "apps", apps, "versions", versions);
}

json_t *sqlite_compare(void *file, const char *app, const char *from, const char *to) {
    struct sqlite *s = file;
    sqlite_start_reading(s);
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
    sqlite_start_reading(s);
    json_t *rows = sqlite_select(s,
                                 "SELECT (SELECT count(*) FROM grouped) AS groups,"
                                 " (SELECT coalesce(sum(count), 0) FROM grouped) AS hangs",
                                 "");
    json_t *counts = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    pthread_mutex_unlock(&s->reading);
    return counts;
}

void sqlite_find_regressed(void *file, struct store_mark *marks, size_t count) {
    struct sqlite *s = file;
    sqlite_start_reading(s);
    /* Reports know their start to the second; one of the same second counts if it came since. */
    sqlite3_stmt *q = sqlite_query(
        s,
        "SELECT 1 FROM grouped g JOIN group_version v ON v.fingerprint = g.fingerprint AND v.app = g.app"
        " JOIN app_version a ON a.app = v.app AND a.version = v.version WHERE g.fingerprint = ?1"
        " AND g.count > ?2 AND v.last_ms >= ?3 AND a.first_ms >= coalesce((SELECT first_ms FROM app_version r"
        " WHERE r.app = g.app AND r.version = ?4), 0) LIMIT 1");
    for (size_t i = 0; q != NULL && i < count; i++) {
        struct store_mark *mark = &marks[i];
        if (strcmp(mark->state, "resolved") == 0) {
            sqlite_bind(q, "siis", mark->fingerprint, mark->resolved_count, mark->resolved_ms / 1000 * 1000,
                        mark->resolved_in);
            mark->is_regressed = sqlite3_step(q) == SQLITE_ROW;
            sqlite3_reset(q);
        }
    }
    sqlite3_finalize(q);
    pthread_mutex_unlock(&s->reading);
}
