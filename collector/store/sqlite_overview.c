/* SPDX-License-Identifier: MIT
 *
 * The overview: the groups with the most time, versions and days. Any thread; one at a time. All of an answer
 * is of one moment.
 *
 * The groups with the most time of these days are found without the days of all groups: a group's time of
 * some days is at most that of its whole life, and the groups are looked at by the latter. The search ends
 * where no further group can be among those that were found.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/sqlite_private.h"

#define NEW_DAYS 7
#define TOP_GROUPS 200
/* The page draws no more of a group's days, and a group's own page has them. */
#define TREND_DAYS 30
/* Versions that have a series of their own; an app's others are added up as the version "". */
#define SERIES_VERSIONS 12

struct top_group {
    int64_t row, count, total_ms;
    bool hang;
};

struct top {
    struct top_group group[TOP_GROUPS];
    size_t count;
    sqlite3_stmt *days; /* one group's sums */
    int64_t day;
};

int64_t sqlite_first_day(int days) {
    return (int64_t)time(NULL) / 86400 - days;
}

/* ---- groups --------------------------------------------------------------------------------- */

/* Hangs stand before errors, crashes and the use of CPUs, whose time is not hung time. */
static bool is_before(const struct top_group *a, const struct top_group *b) {
    return a->hang != b->hang           ? a->hang
           : a->total_ms != b->total_ms ? a->total_ms > b->total_ms
           : a->count != b->count       ? a->count > b->count
                                        : a->row < b->row;
}

/* Puts it where it belongs, if it belongs to the first TOP_GROUPS. */
static void put(struct top *t, const struct top_group *one) {
    size_t at = t->count;
    while (at > 0 && is_before(one, &t->group[at - 1])) {
        at--;
    }
    if (at == TOP_GROUPS) {
        return;
    }
    t->count += t->count < TOP_GROUPS;
    memmove(&t->group[at + 1], &t->group[at], (t->count - 1 - at) * sizeof *one);
    t->group[at] = *one;
}

/* `life_ms`: of all days; none of the groups after it has more. */
static bool is_complete(const struct top *t, bool hang, int64_t life_ms) {
    const struct top_group *last = &t->group[TOP_GROUPS - 1];
    return t->count == TOP_GROUPS &&
           (last->hang != hang || (life_ms < last->total_ms && life_ms < SUM_LIMIT));
}

static void find_top(struct sqlite *s, const char *app, struct top *t) {
    sqlite3_stmt *q = sqlite_query(
        s, "SELECT rowid, fingerprint, total_ms, kind = 'hang' FROM grouped INDEXED BY grouped_by_time"
           " WHERE ?1 = '' OR app = ?1 ORDER BY kind = 'hang' DESC, total_ms DESC");
    if (q != NULL) {
        sqlite_bind(q, "s", app);
    }
    while (q != NULL && t->days != NULL && sqlite3_step(q) == SQLITE_ROW) {
        struct top_group one = {.row = sqlite3_column_int64(q, 0), .hang = sqlite3_column_int(q, 3) != 0};
        if (is_complete(t, one.hang, sqlite3_column_int64(q, 2))) {
            break;
        }
        sqlite_bind(t->days, "si", (const char *)sqlite3_column_text(q, 1), t->day);
        if (sqlite3_step(t->days) == SQLITE_ROW && sqlite3_column_int64(t->days, 0) > 0) {
            one.count = sqlite3_column_int64(t->days, 0);
            one.total_ms = sqlite3_column_int64(t->days, 1);
            put(t, &one);
        }
        sqlite3_reset(t->days);
    }
    sqlite3_finalize(q);
}

/* What the page says of each. */
static json_t *show_top(struct sqlite *s, const struct top *t) {
    json_t *groups = json_array();
    sqlite3_stmt *q = sqlite_query(
        s,
        "SELECT fingerprint, app, function, place, cause, by_owner, users, max_ms, first_ms, last_ms, kind,"
        " (SELECT count(*) FROM group_version v WHERE v.fingerprint = g.fingerprint) AS versions"
        " FROM grouped g WHERE rowid = ?1");
    const int64_t new_ms = ((int64_t)time(NULL) - NEW_DAYS * INT64_C(86400)) * 1000;
    for (size_t i = 0; q != NULL && i < t->count; i++) {
        sqlite_bind(q, "i", t->group[i].row);
        json_t *group = sqlite3_step(q) == SQLITE_ROW ? sqlite_row(q) : json_object();
        bool is_new = json_integer_value(json_object_get(group, "first_ms")) >= new_ms;
        json_object_set_new(group, "count", json_integer(t->group[i].count));
        json_object_set_new(group, "total_ms", json_integer(t->group[i].total_ms));
        json_object_set_new(group, "is_new", json_boolean(is_new));
        json_array_append_new(groups, group);
        sqlite3_reset(q);
    }
    sqlite3_finalize(q);
    return groups;
}

static json_t *top_groups(struct sqlite *s, const char *app, int64_t day) {
    struct top *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return json_array();
    }
    t->day = day;
    t->days = sqlite_query(
        s, "SELECT sum(count), sum(total_ms) FROM group_day WHERE fingerprint = ?1 AND day >= ?2");
    find_top(s, app, t);
    json_t *groups = show_top(s, t);
    sqlite3_finalize(t->days);
    free(t);
    return groups;
}

/* The days of groups that the page shows. */
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
            json_t *one = json_object();
            json_object_set_new_nocheck(one, "day", json_integer(sqlite3_column_int64(q, 0)));
            json_object_set_nocheck(one, "fingerprint", fingerprint);
            json_object_set_new_nocheck(one, "total_ms", json_integer(sqlite3_column_int64(q, 1)));
            json_array_append_new(all, one);
        }
        sqlite3_reset(q);
    }
    sqlite3_finalize(q);
    return all;
}

/* ---- versions and days ---------------------------------------------------------------------- */

/* Those with the most time, that first. */
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

/* The rows of one version, which the rest of its app then has no more. */
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
            if (i < SERIES_VERSIONS && version[0] != '\0' &&
                json_integer_value(json_object_get(one, "count")) > 0) {
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

json_t *sqlite_overview(void *file, const char *app, int days) {
    struct sqlite *s = file;
    const int64_t day = sqlite_first_day(days);
    json_t *all = json_object();
    sqlite_start_reading(s);
    sqlite_run(s->reads, "BEGIN");
    json_t *groups = top_groups(s, app, day), *versions = top_versions(s, app, day);
    json_t *apps = sqlite_select(s, "SELECT DISTINCT app FROM app_version ORDER BY 1 LIMIT 500", "");
    json_object_set_new(all, "days",
                        days_of(s, groups, sqlite_first_day(days < TREND_DAYS ? days : TREND_DAYS)));
    json_object_set_new(all, "groups", groups);
    json_object_set_new(all, "series", make_series(s, app, day, versions));
    json_object_set_new(all, "versions", by_app(versions));
    json_object_set_new(all, "apps", apps);
    add_sessions(s, all, app, day);
    sqlite_run(s->reads, "COMMIT");
    pthread_mutex_unlock(&s->reading);
    json_decref(versions);
    return all;
}
