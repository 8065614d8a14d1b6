/* SPDX-License-Identifier: MIT
 *
 * The pages' queries, with the members of those of sqlite_pages.c. The data of groups come from two queries:
 * first sums, then the shown values of the few remaining groups. So no join over shards is necessary. Any
 * thread; one at a time.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/json_text.h"
#include "collector/report/why.h"
#include "collector/store/clickhouse_private.h"

#define ROWS(...) clickhouse_rows(c, &c->reads, __VA_ARGS__)
#define DAY_MS INT64_C(86400000)
/* Versions that have a series of their own; an app's others are added up as the version "". */
#define SERIES_VERSIONS 12
#define TOTALS "sumMerge(n) AS count, sumMerge(total) AS total_ms"
#define SEEN "minMerge(first) AS first_ms, maxMerge(last) AS last_ms"

static int64_t first_day(int days) {
    return (int64_t)time(NULL) / 86400 - days;
}

static int64_t number_of(const json_t *object, const char *member) {
    return json_integer_value(json_object_get(object, member));
}

json_t *clickhouse_with_shown(struct clickhouse *c, json_t *groups) {
    json_t *shown = ROWS("SELECT app, fingerprint, " CLICKHOUSE_SHOWN
                         " FROM @grouped WHERE (app, fingerprint) IN ?p GROUP BY app, fingerprint",
                         groups),
           *by_name = json_object(), *row;
    size_t i;
    json_array_foreach(shown, i, row) {
        json_object_set(by_name, json_text(row, "fingerprint"), row);
    }
    for (i = json_array_size(groups); i-- > 0;) {
        json_t *group = json_array_get(groups, i);
        json_t *all = json_object_get(by_name, json_text(group, "fingerprint"));
        if (all == NULL) {
            json_array_remove(groups, i);
        } else {
            json_object_update_missing(group, all);
        }
    }
    json_decref(shown);
    json_decref(by_name);
    return groups;
}

static int by_app_and_time(const void *a, const void *b) {
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    int apps = strcmp(json_text(x, "app"), json_text(y, "app"));
    int64_t one = number_of(x, "total_ms"), other = number_of(y, "total_ms");
    return apps != 0 ? apps : (one < other) - (one > other);
}

static json_t *sorted(json_t *rows) {
    size_t count = json_array_size(rows);
    json_t **all = calloc(count + 1, sizeof(json_t *)), *out = json_array();
    for (size_t i = 0; all != NULL && i < count; i++) {
        all[i] = json_array_get(rows, i);
    }
    if (all != NULL) {
        qsort(all, count, sizeof(json_t *), by_app_and_time);
    }
    for (size_t i = 0; all != NULL && i < count; i++) {
        json_array_append(out, all[i]);
    }
    free(all);
    json_decref(rows);
    return out;
}

/* `top` gets those that have a series, as pairs of clickhouse_sql. */
static json_t *versions_of(struct clickhouse *c, const char *app, int64_t day, json_t *top) {
    json_t *versions =
        ROWS("SELECT app, version, sumMergeIf(n, " CLICKHOUSE_HANGS
             ") AS count, sumMergeIf(total, " CLICKHOUSE_HANGS
             ") AS total_ms, sumMergeIf(total, kind = 'session') AS used_ms FROM @app_day WHERE day >= ?i?a"
             " GROUP BY app, version HAVING sumMerge(n) > 0 ORDER BY total_ms DESC, app, version LIMIT 50",
             day, app);
    json_t *
        firsts = ROWS(
           "SELECT app, version, minMerge(first) AS first_ms FROM @app_version WHERE 1?a GROUP BY app, version",
           app),
       *version, *first;
    size_t i, j;
    json_array_foreach(versions, i, version) {
        json_array_foreach(firsts, j, first) {
            if (json_equal(json_object_get(first, "version"), json_object_get(version, "version")) &&
                json_equal(json_object_get(first, "app"), json_object_get(version, "app"))) {
                json_object_set(version, "first_ms", json_object_get(first, "first_ms"));
            }
        }
        if (i < SERIES_VERSIONS) {
            json_array_append_new(top, json_pack("{s:O, s:O}", "app", json_object_get(version, "app"),
                                                 "fingerprint", json_object_get(version, "version")));
        }
    }
    json_decref(firsts);
    return versions != NULL ? sorted(versions) : NULL;
}

static void add_usage(struct clickhouse *c, json_t *all, const char *app, int64_t day) {
    json_t *top = json_array();
    json_object_set_new(all, "versions", versions_of(c, app, day, top));
    json_object_set_new(
        all, "series",
        ROWS(
            "SELECT day, app, one AS version, count, total_ms, used_ms FROM (SELECT day, app, if((app, version) IN"
            " ?p, version, '') AS one, sumMergeIf(n, " CLICKHOUSE_HANGS
            ") AS count, sumMergeIf(total, " CLICKHOUSE_HANGS
            ") AS total_ms, sumMergeIf(total, kind = 'session') AS used_ms FROM @app_day WHERE day >= ?i?a"
            " GROUP BY day, app, one) WHERE count > 0 OR used_ms > 0 ORDER BY day, app, version",
            top, day, app));
    json_t *used = ROWS("SELECT sumMerge(total) AS used_ms, sumMerge(n) AS runs, sumMerge(free) AS hang_free"
                        " FROM @app_day WHERE kind = 'session' AND day >= ?i?a",
                        day, app);
    const json_t *row = json_array_get(used, 0);
    json_object_set_new(all, "sessions",
                        json_pack("{s:O?, s:O?}", "runs", json_object_get(row, "runs"), "hang_free",
                                  json_object_get(row, "hang_free")));
    json_object_set_new(all, "used", used);
    json_decref(top);
}

json_t *clickhouse_apps(struct clickhouse *c) {
    return ROWS("SELECT DISTINCT app FROM @app_version ORDER BY app LIMIT 500");
}

json_t *clickhouse_overview(void *at, const struct store_group_filter *filter) {
    struct clickhouse *c = at;
    json_t *all = json_object();
    pthread_mutex_lock(&c->reads.lock);
    if (clickhouse_add_groups(c, filter, all)) {
        add_usage(c, all, filter->app, first_day(filter->days));
        json_object_set_new(all, "apps", clickhouse_apps(c));
        clickhouse_add_origin_counts(c, filter->app, filter->days, all);
    } else {
        json_decref(all);
        all = NULL;
    }
    pthread_mutex_unlock(&c->reads.lock);
    return all;
}

json_t *clickhouse_versions(void *at, const char *app) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->reads.lock);
    json_t *versions = ROWS("SELECT app, version, " TOTALS ", sumMerge(used) AS used_ms, " SEEN
                            " FROM @app_version WHERE 1?a GROUP BY app, version ORDER BY first_ms DESC, app,"
                            " version LIMIT 200",
                            app);
    json_t *apps = versions != NULL ? clickhouse_apps(c) : NULL;
    pthread_mutex_unlock(&c->reads.lock);
    return versions != NULL ? json_pack("{s:o*, s:o}", "apps", apps, "versions", versions) : NULL;
}

json_t *clickhouse_kinds(void *at, const char *app, int days) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->reads.lock);
    json_t *kinds = ROWS("SELECT kind, " TOTALS " FROM @app_day WHERE day >= ?i?a GROUP BY kind"
                         " HAVING count > 0 ORDER BY kind",
                         first_day(days), app);
    pthread_mutex_unlock(&c->reads.lock);
    return kinds;
}

/* The labels with the most time; "" has the sums of all others. */
static json_t *labels_of(struct clickhouse *c, const char *app, const char *fingerprint) {
#define OF_LABELS TOTALS " FROM @label WHERE app = ?s AND fingerprint = ?s"
    json_t *names = json_array(), *row,
           *labels = ROWS("SELECT label, " OF_LABELS " GROUP BY label HAVING count > 0"
                          " ORDER BY total_ms DESC LIMIT 50",
                          app, fingerprint);
    size_t i;
    json_array_foreach(labels, i, row) {
        json_array_append(names, json_object_get(row, "label"));
    }
    if (i == 50) {
        json_t *others = ROWS("SELECT '' AS label, " OF_LABELS " AND label NOT IN ?l HAVING count > 0", app,
                              fingerprint, names);
        json_array_extend(labels, others);
        json_decref(others);
    }
    json_decref(names);
    return labels;
}

static void add_parts(struct clickhouse *c, json_t *group) {
    const char *app = json_text(group, "app"), *fingerprint = json_text(group, "fingerprint");
#define PART(part) \
    " FROM @part WHERE part = '" part "' AND app = ?s AND fingerprint = ?s GROUP BY value HAVING count > 0"
    static const struct {
        const char *member, *sql;
    } parts[] = {
        {"versions",
         "SELECT value AS version, " TOTALS ", " SEEN ", intDiv(first_ms, 3600000) AS first_hour,"
         " intDiv(last_ms, 3600000) AS last_hour" PART("version") " ORDER BY total_ms DESC LIMIT 50"},
        {"systems", "SELECT value AS system, " TOTALS PART("system") " ORDER BY total_ms DESC LIMIT 50"},
        {"durations", "SELECT toUInt8(value) AS step, sumMerge(n) AS count" PART("step") " ORDER BY step"},
        {"kinds", "SELECT value AS kind, " TOTALS PART("kind") " ORDER BY kind"},
        {"days", "SELECT day, " TOTALS " FROM @group_day WHERE app = ?s AND fingerprint = ?s GROUP BY day"
                 " HAVING count > 0 ORDER BY day DESC LIMIT 90"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        json_object_set_new(group, parts[i].member, ROWS(parts[i].sql, app, fingerprint));
    }
    json_object_set_new(group, "labels", labels_of(c, app, fingerprint));
    clickhouse_add_origins(c, group);
    json_object_set_new(group, "reports", clickhouse_newest_of_group(c, app, fingerprint));
}

static json_t *group_of(struct clickhouse *c, const char *fingerprint) {
    return clickhouse_first(
        ROWS("SELECT app, fingerprint, " CLICKHOUSE_SHOWN ", " TOTALS
             ", argMaxMerge(shown_path) AS path, argMinMerge(first_rule) AS rule FROM @grouped"
             " WHERE fingerprint = ?s GROUP BY app, fingerprint HAVING count > 0",
             fingerprint));
}

json_t *clickhouse_group(void *at, const char *fingerprint) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->reads.lock);
    json_t *group = group_of(c, fingerprint);
    if (group != NULL) {
        char why[WHY_BYTES];
        json_object_set_new(group, "why", json_string(why_grouped(json_text(group, "path"), why)));
        json_t *newest =
            clickhouse_first(ROWS("SELECT version, minMerge(first) AS first_ms FROM @app_version WHERE"
                                  " app = ?s GROUP BY version ORDER BY first_ms DESC LIMIT 1",
                                  json_text(group, "app")));
        json_object_set_new(group, "newest_version", json_string(json_text(newest, "version")));
        json_decref(newest);
        add_parts(c, group);
    }
    pthread_mutex_unlock(&c->reads.lock);
    return group;
}

static json_t *version_of(struct clickhouse *c, const char *app, const char *version) {
    return clickhouse_first(ROWS("SELECT version, " TOTALS
                                 ", sumMerge(runs) AS runs, sumMerge(used) AS used_ms, " SEEN
                                 " FROM @app_version WHERE app = ?s AND version = ?s GROUP BY version",
                                 app, version));
}

json_t *clickhouse_compare(void *at, const char *app, const char *from, const char *to) {
    static const char *const unshown[] = {"app",    "by_owner", "kind",    "users",
                                          "max_ms", "first_ms", "last_ms", "versions"};
    struct clickhouse *c = at;
    json_t *group;
    size_t i;
    pthread_mutex_lock(&c->reads.lock);
    json_t *one = version_of(c, app, from), *other = one != NULL ? version_of(c, app, to) : NULL, *all = NULL;
    json_t *groups =
        other == NULL
            ? NULL
            : ROWS(
                  "SELECT app, fingerprint, sumMergeIf(total, value = ?s) AS from_ms, sumMergeIf(total, value = ?s)"
                  " AS to_ms, sumMergeIf(n, value = ?s) AS from_count, sumMergeIf(n, value = ?s) AS to_count"
                  " FROM @part WHERE part = 'version' AND app = ?s AND value IN (?s, ?s) AND hang = 1"
                  " GROUP BY app, fingerprint HAVING from_count + to_count > 0"
                  " ORDER BY greatest(from_ms, to_ms) DESC LIMIT 200",
                  from, to, from, to, app, from, to);
    groups = groups != NULL ? clickhouse_with_shown(c, groups) : NULL;
    json_array_foreach(groups, i, group) {
        for (size_t j = 0; j < sizeof unshown / sizeof unshown[0]; j++) {
            json_object_del(group, unshown[j]);
        }
    }
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
    json_t *counts = clickhouse_first(ROWS(
        "SELECT count() AS groups, sum(count) AS hangs FROM (SELECT fingerprint, sumMerge(n) AS count FROM"
        " @grouped GROUP BY fingerprint HAVING count > 0)"));
    pthread_mutex_unlock(&c->reads.lock);
    return counts;
}

/* fingerprint -> {app, count}, of the groups that are resolved. */
static json_t *resolved_groups(struct clickhouse *c, const struct store_mark *marks, size_t count) {
    json_t *names = json_array(), *by_name = json_object(), *row;
    size_t i;
    for (i = 0; i < count; i++) {
        if (strcmp(marks[i].state, "resolved") == 0) {
            json_array_append_new(names, json_string(marks[i].fingerprint));
        }
    }
    json_t *rows = json_array_size(names) == 0
                       ? NULL
                       : ROWS("SELECT app, fingerprint, " TOTALS " FROM @grouped WHERE fingerprint IN ?l"
                              " GROUP BY app, fingerprint",
                              names);
    json_array_foreach(rows, i, row) {
        json_object_set(by_name, json_text(row, "fingerprint"), row);
    }
    json_decref(rows);
    json_decref(names);
    return by_name;
}

/* When the app's version was first seen; 0: it was not. */
static int64_t first_of(const json_t *firsts, const char *app, const char *version) {
    const json_t *row;
    size_t i;
    json_array_foreach(firsts, i, row) {
        if (strcmp(json_text(row, "app"), app) == 0 && strcmp(json_text(row, "version"), version) == 0) {
            return number_of(row, "first_ms");
        }
    }
    return 0;
}

/* `later`: each version of each group, with its last report. */
static bool is_in_later(const struct store_mark *mark, const char *app, const json_t *firsts,
                        const json_t *later) {
    const int64_t least = first_of(firsts, app, mark->resolved_in);
    const json_t *row;
    size_t i;
    json_array_foreach(later, i, row) {
        /* Reports know their start to the second; one of the same second counts if it came since. */
        if (strcmp(json_text(row, "fingerprint"), mark->fingerprint) == 0 &&
            number_of(row, "last_ms") >= mark->resolved_ms / 1000 * 1000 &&
            first_of(firsts, app, json_text(row, "value")) >= least) {
            return true;
        }
    }
    return false;
}

void clickhouse_find_regressed(void *at, struct store_mark *marks, size_t count) {
    struct clickhouse *c = at;
    json_t *groups, *more = json_array(), *firsts = NULL, *later = NULL;
    pthread_mutex_lock(&c->reads.lock);
    groups = resolved_groups(c, marks, count);
    for (size_t i = 0; i < count; i++) {
        json_t *group = json_object_get(groups, marks[i].fingerprint);
        if (group != NULL && number_of(group, "count") > marks[i].resolved_count) {
            json_array_append(more, group);
        }
    }
    if (json_array_size(more) > 0) {
        firsts =
            ROWS("SELECT app, version, minMerge(first) AS first_ms FROM @app_version GROUP BY app, version");
        later = ROWS("SELECT fingerprint, value, " TOTALS ", maxMerge(last) AS last_ms FROM @part WHERE"
                     " part = 'version' AND (app, fingerprint) IN ?p GROUP BY fingerprint, value"
                     " HAVING count > 0",
                     more);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *group = json_object_get(groups, marks[i].fingerprint);
        marks[i].is_regressed = group != NULL && number_of(group, "count") > marks[i].resolved_count &&
                                is_in_later(&marks[i], json_text(group, "app"), firsts, later);
    }
    pthread_mutex_unlock(&c->reads.lock);
    json_decref(groups);
    json_decref(more);
    json_decref(firsts);
    json_decref(later);
}
