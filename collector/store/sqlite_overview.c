/* SPDX-License-Identifier: MIT
 *
 * The overview: groups, versions and days. Any thread; one at a time. All of an answer is of one moment.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/sqlite_private.h"

/* Versions that have a series of their own; an app's others are added up as the version "". */
#define SERIES_VERSIONS 12

int64_t sqlite_first_day(int days) {
    return (int64_t)time(NULL) / 86400 - days;
}

/* ---- versions and days ---------------------------------------------------------------------- */

/* The versions with the most hang time, in this order. */
static json_t *top_versions(struct sqlite *s, const char *app, int64_t day) {
    return sqlite_select(
        s,
        "SELECT v.app, v.version, sum(d.count) AS count, sum(d.total_ms) AS total_ms,"
        " sum(d.used_ms) AS used_ms, v.first_ms FROM app_version v CROSS JOIN version_day d ON"
        " d.app = v.app AND d.version = v.version AND d.day >= ?2 WHERE (?1 = '' OR v.app = ?1)"
        " AND v.last_ms >= ?2 * 86400000 GROUP BY v.app, v.version ORDER BY 4 DESC, 1, 2 LIMIT 50",
        "si", app, day);
}

/* One of an app's days: what is not in the rows of versions of their own. */
struct rest {
    int64_t day, count, total_ms, used_ms;
    const char *app;
};

struct rests {
    struct rest *rest; /* by app and day */
    size_t count;
};

static int compare(const void *a, const void *b) {
    const struct rest *one = a, *other = b;
    int order = strcmp(one->app, other->app);
    return order != 0 ? order : (one->day > other->day) - (one->day < other->day);
}

/* A day without hangs and use has no row. */
static void add_row(json_t *series, const struct rest *r, const char *version) {
    if (r->count > 0 || r->used_ms > 0) {
        json_array_append_new(series, json_pack("{s:I, s:s, s:s, s:I, s:I, s:I}", "day", r->day, "app",
                                                r->app, "version", version, "count", r->count, "total_ms",
                                                r->total_ms, "used_ms", r->used_ms));
    }
}

/* Adds the rows of one version, and subtracts them from the rest of the app. */
static void add_version(struct sqlite *s, json_t *series, struct rests *all, const char *app,
                        const char *version, int64_t day) {
    sqlite3_stmt *q =
        sqlite_query(s, "SELECT day, count, total_ms, used_ms FROM version_day WHERE app = ?1 AND"
                        " version = ?2 AND day >= ?3");
    if (q != NULL) {
        sqlite_bind(q, "ssi", app, version, day);
    }
    while (q != NULL && sqlite3_step(q) == SQLITE_ROW) {
        const struct rest one = {.app = app,
                                 .day = sqlite3_column_int64(q, 0),
                                 .count = sqlite3_column_int64(q, 1),
                                 .total_ms = sqlite3_column_int64(q, 2),
                                 .used_ms = sqlite3_column_int64(q, 3)};
        struct rest *rest = bsearch(&one, all->rest, all->count, sizeof one, compare);
        add_row(series, &one, version);
        if (rest != NULL) {
            rest->count -= one.count;
            rest->total_ms -= one.total_ms;
            rest->used_ms -= one.used_ms;
        }
    }
    sqlite3_finalize(q);
}

/* All days of the app, or of all apps; `rows` has their texts. */
static bool take_rests(const json_t *rows, struct rests *all) {
    const json_t *row;
    size_t i;
    all->rest = calloc(json_array_size(rows) + 1, sizeof *all->rest);
    if (all->rest == NULL) {
        return false;
    }
    json_array_foreach(rows, i, row) {
        all->rest[all->count++] =
            (struct rest){.app = json_string_value(json_object_get(row, "app")),
                          .day = json_integer_value(json_object_get(row, "day")),
                          .count = json_integer_value(json_object_get(row, "count")),
                          .total_ms = json_integer_value(json_object_get(row, "total_ms")),
                          .used_ms = json_integer_value(json_object_get(row, "used_ms"))};
    }
    return true;
}

static json_t *make_series(struct sqlite *s, const char *app, int64_t day, const json_t *versions) {
    json_t *series = json_array();
    json_t *rows = sqlite_select(s,
                                 "SELECT app, day, sum(iif(kind " HANG_KINDS ", count, 0)) AS count,"
                                 " sum(iif(kind " HANG_KINDS ", total_ms, 0)) AS total_ms,"
                                 " sum(iif(kind = 'session', total_ms, 0)) AS used_ms" OF_APP_DAY
                                 " GROUP BY 1, 2 ORDER BY 1, 2",
                                 "si", app, day);
    struct rests all = {.count = 0};
    const json_t *one;
    size_t i;
    if (take_rests(rows, &all)) {
        json_array_foreach(versions, i, one) {
            const char *version = json_string_value(json_object_get(one, "version"));
            if (i < SERIES_VERSIONS && version[0] != '\0') {
                add_version(s, series, &all, json_string_value(json_object_get(one, "app")), version, day);
            }
        }
    }
    for (i = 0; i < all.count; i++) {
        add_row(series, &all.rest[i], "");
    }
    free(all.rest);
    json_decref(rows);
    return series;
}

/* The page has them by app, and within one by time. There are 50 at most. */
static json_t *by_app(const json_t *versions) {
    json_t *ordered = json_array(), *version;
    size_t i;
    json_array_foreach(versions, i, version) {
        const char *app = json_string_value(json_object_get(version, "app"));
        size_t at = json_array_size(ordered);
        while (at > 0 &&
               strcmp(app, json_string_value(json_object_get(json_array_get(ordered, at - 1), "app"))) < 0) {
            at--;
        }
        json_array_insert(ordered, at, version);
    }
    return ordered;
}

static void add_sessions(struct sqlite *s, json_t *all, const char *app, int64_t day) {
    json_t *sessions =
        sqlite_select(s,
                      "SELECT coalesce(sum(total_ms), 0) AS used_ms, coalesce(sum(count), 0) AS"
                      " runs, coalesce(sum(hang_free), 0) AS hang_free" OF_APP_DAY " AND kind = 'session'",
                      "si", app, day);
    const json_t *row = json_array_get(sessions, 0);
    json_object_set_new(all, "sessions",
                        json_pack("{s:O?, s:O?}", "runs", json_object_get(row, "runs"), "hang_free",
                                  json_object_get(row, "hang_free")));
    json_object_set_new(all, "used", sessions);
}

json_t *sqlite_apps(struct sqlite *s) {
    return sqlite_select(s, "SELECT DISTINCT app FROM app_version ORDER BY 1 LIMIT 500", "");
}

json_t *sqlite_overview(void *file, const struct store_group_filter *filter) {
    struct sqlite *s = file;
    const char *app = filter->app;
    const int64_t day = sqlite_first_day(filter->days);
    json_t *all = json_object();
    sqlite_start_reading(s);
    sqlite_run(s->reads, "BEGIN");
    sqlite_add_groups(s, filter, all);
    json_t *versions = top_versions(s, app, day);
    json_t *apps = sqlite_apps(s);
    json_object_set_new(all, "series", make_series(s, app, day, versions));
    json_object_set_new(all, "versions", by_app(versions));
    json_object_set_new(all, "apps", apps);
    add_sessions(s, all, app, day);
    sqlite_add_origin_counts(s, app, day, all);
    sqlite_run(s->reads, "COMMIT");
    pthread_mutex_unlock(&s->reading);
    json_decref(versions);
    return all;
}
