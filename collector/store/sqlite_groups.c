/* SPDX-License-Identifier: MIT
 *
 * The groups of some days, in an order, a page at a time; and their totals. Any thread; one at a time.
 *
 * Does not add up the days of all groups. A group's sum of some days is at most the sum of all days. Groups
 * are read in the order of the latter, so the search can end once no further group can be on the page. Totals
 * are those of the apps' days, minus the few groups that the filter omits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/sqlite_private.h"

/* The page draws no more of a group's days, and a group's own page has them. */
#define TREND_DAYS 30

struct found {
    int64_t row, count, total_ms;
};

struct totals {
    int64_t groups, count, total_ms;
};

struct search {
    struct sqlite *s;
    const struct store_group_filter *f;
    struct found *all;
    size_t count, max;  /* with the pages before this one */
    sqlite3_stmt *days; /* one group's sums */
    int64_t day, new_ms;
    struct totals of_few; /* of one version or one origin, where the filter names it */
};

static bool is_wanted(const struct store_group_filter *f, const char *fingerprint) {
    return (f->only == NULL || json_object_get(f->only, fingerprint) != NULL) &&
           (f->without == NULL || json_object_get(f->without, fingerprint) == NULL);
}

/* ---- a page --------------------------------------------------------------------------------- */

static const struct {
    const char *column, *index, *then;
} orders[] = {[STORE_BY_TIME] = {"total_ms", " INDEXED BY grouped_by_time", ""},
              [STORE_BY_COUNT] = {"count", "", ""},
              [STORE_BY_USERS] = {"users", "", ", fingerprint"},
              [STORE_BY_LAST] = {"last_ms", "", ", fingerprint"},
              [STORE_BY_FIRST] = {"first_ms", "", ", fingerprint"}};

static bool is_by_sum(enum store_order order) {
    return order == STORE_BY_TIME || order == STORE_BY_COUNT;
}

static bool is_before(enum store_order order, const struct found *a, const struct found *b) {
    const int64_t one = order == STORE_BY_TIME ? a->total_ms : a->count;
    const int64_t other = order == STORE_BY_TIME ? b->total_ms : b->count;
    const int64_t one_more = order == STORE_BY_TIME ? a->count : a->total_ms;
    const int64_t other_more = order == STORE_BY_TIME ? b->count : b->total_ms;
    return one != other ? one > other : one_more != other_more ? one_more > other_more : a->row < b->row;
}

/* Puts it where it belongs behind the first `from`, if it belongs to the first `max`. */
static void put(struct search *f, size_t from, const struct found *one) {
    size_t at = f->count;
    while (is_by_sum(f->f->order) && at > from && is_before(f->f->order, one, &f->all[at - 1])) {
        at--;
    }
    if (at == f->max) {
        return;
    }
    f->count += f->count < f->max;
    memmove(&f->all[at + 1], &f->all[at], (f->count - 1 - at) * sizeof *one);
    f->all[at] = *one;
}

/* `life`: what the next group has in all days; none of those after it has more. */
static bool is_complete(const struct search *f, size_t from, int64_t life) {
    if (f->count < f->max || f->count == from) {
        return f->count == f->max;
    }
    const struct found *last = &f->all[f->max - 1];
    return !is_by_sum(f->f->order) ||
           (life < (f->f->order == STORE_BY_TIME ? last->total_ms : last->count) && life < SUM_LIMIT);
}

/* The sums of the group's days; false: it has none. */
static bool find_sums(struct search *f, const char *fingerprint, struct found *one) {
    bool found = false;
    sqlite_bind(f->days, "si", fingerprint, f->day);
    if (sqlite3_step(f->days) == SQLITE_ROW && sqlite3_column_int64(f->days, 0) > 0) {
        one->count = sqlite3_column_int64(f->days, 0);
        one->total_ms = sqlite3_column_int64(f->days, 1);
        found = true;
    }
    sqlite3_reset(f->days);
    return found;
}

/* Of hangs, or of others, behind those that were found. */
static void find_page(struct search *f, bool hangs) {
    char sql[512];
    const size_t from = f->count;
    const enum store_order order = f->f->order;
    snprintf(
        sql, sizeof sql,
        "SELECT rowid, fingerprint, %s FROM grouped%s WHERE (kind = 'hang') = ?1 AND (?2 = '' OR app = ?2)"
        " AND first_ms >= ?3 AND last_ms >= ?4 * 86400000 ORDER BY %s DESC%s",
        orders[order].column, orders[order].index, orders[order].column, orders[order].then);
    sqlite3_stmt *q = sqlite_query(f->s, sql);
    if (q != NULL) {
        sqlite_bind(q, "isii", (int64_t)hangs, f->f->app, f->new_ms, f->day);
    }
    while (q != NULL && sqlite3_step(q) == SQLITE_ROW && !is_complete(f, from, sqlite3_column_int64(q, 2))) {
        const char *fingerprint = (const char *)sqlite3_column_text(q, 1);
        struct found one = {.row = sqlite3_column_int64(q, 0)};
        if (is_wanted(f->f, fingerprint) && find_sums(f, fingerprint, &one)) {
            put(f, from, &one);
        }
    }
    sqlite3_finalize(q);
}

static bool has_version(const struct store_group_filter *f) {
    return f->version != NULL && f->version[0] != '\0';
}

static bool has_origin(const struct store_group_filter *f) {
    return f->part != NULL && f->name[0] != '\0';
}

/* Of one version, host, unit, container or image all groups are read: there are few. */
static void find_page_of_few(struct search *f, bool hangs) {
    static const char *const columns[] = {[STORE_BY_TIME] = "v.total_ms DESC, v.count",
                                          [STORE_BY_COUNT] = "v.count DESC, v.total_ms",
                                          [STORE_BY_USERS] = "g.users",
                                          [STORE_BY_LAST] = "g.last_ms",
                                          [STORE_BY_FIRST] = "g.first_ms"};
    char sql[512];
    const bool of_version = has_version(f->f), is_counted = hangs == (f->f->kinds != STORE_OTHERS);
    snprintf(sql, sizeof sql,
             "SELECT g.rowid, g.fingerprint, v.count, v.total_ms FROM %s v JOIN grouped g USING(fingerprint)"
             " WHERE %s AND v.count > 0 AND (g.kind = 'hang') = ?3 AND g.first_ms >= ?4 ORDER BY %s DESC,"
             " g.fingerprint",
             of_version ? "group_version" : "group_origin",
             of_version ? "v.app = ?1 AND v.version = ?2"
                        : "(?1 = '' OR g.app = ?1) AND v.name = ?2 AND v.part = ?5",
             columns[f->f->order]);
    sqlite3_stmt *q = sqlite_query(f->s, sql);
    if (q != NULL) {
        sqlite_bind(q, of_version ? "ssii" : "ssiis", f->f->app, of_version ? f->f->version : f->f->name,
                    (int64_t)hangs, f->new_ms, f->f->part);
    }
    while (q != NULL && sqlite3_step(q) == SQLITE_ROW) {
        const struct found one = {sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 2),
                                  sqlite3_column_int64(q, 3)};
        if (!is_wanted(f->f, (const char *)sqlite3_column_text(q, 1))) {
            continue;
        }
        if (is_counted) {
            f->of_few.groups++;
            f->of_few.count += one.count;
            f->of_few.total_ms += one.total_ms;
        }
        if (f->count < f->max) {
            f->all[f->count++] = one;
        }
    }
    sqlite3_finalize(q);
}

/* The data of each group on the page. */
static json_t *show(const struct search *f) {
    json_t *groups = json_array();
    sqlite3_stmt *q = sqlite_query(
        f->s,
        "SELECT fingerprint, app, function, place, cause, by_owner, users, max_ms, first_ms, last_ms, kind,"
        " (SELECT count(*) FROM group_version v WHERE v.fingerprint = g.fingerprint) AS versions,"
        " (SELECT count(*) FROM group_origin o WHERE o.fingerprint = g.fingerprint AND o.part = 'host' AND"
        " o.name <> '') AS hosts FROM grouped g WHERE rowid = ?1");
    const int64_t new_ms = sqlite_new_ms();
    for (size_t i = (size_t)f->f->offset; q != NULL && i < f->count; i++) {
        sqlite_bind(q, "i", f->all[i].row);
        json_t *group = sqlite3_step(q) == SQLITE_ROW ? sqlite_row(q) : json_object();
        bool is_new = json_integer_value(json_object_get(group, "first_ms")) >= new_ms;
        json_object_set_new(group, "count", json_integer(f->all[i].count));
        json_object_set_new(group, "total_ms", json_integer(f->all[i].total_ms));
        json_object_set_new(group, "is_new", json_boolean(is_new));
        json_array_append_new(groups, group);
        sqlite3_reset(q);
    }
    sqlite3_finalize(q);
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

/* ---- totals --------------------------------------------------------------------------------- */

static void add(struct totals *t, int sign, const struct totals *more) {
    t->groups += sign * more->groups;
    t->count += sign * more->count;
    t->total_ms += sign * more->total_ms;
}

/* Of the query's first row: groups, count, total_ms. */
static void add_row(struct totals *t, sqlite3_stmt *q) {
    if (q != NULL && sqlite3_step(q) == SQLITE_ROW) {
        add(t, 1,
            &(struct totals){sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
                             sqlite3_column_int64(q, 2)});
    }
    sqlite3_finalize(q);
}

#define COUNTED                                                                                     \
    " FROM grouped g WHERE (g.kind = 'hang') = ?1 AND (?2 = '' OR g.app = ?2) AND g.first_ms >= ?3" \
    " AND g.last_ms >= ?4 * 86400000"

/* Of a few groups: those whose fingerprints are the names of `which`. */
static struct totals totals_of(struct search *f, const json_t *which, bool hangs) {
    struct totals all = {0};
    const char *fingerprint;
    json_t *value;
    sqlite3_stmt *q = sqlite_query(f->s, "SELECT 1" COUNTED " AND g.fingerprint = ?5");
    json_object_foreach((json_t *)(uintptr_t)which, fingerprint, value) {
        struct found one;
        if (q != NULL) {
            sqlite_bind(q, "isiis", (int64_t)hangs, f->f->app, f->new_ms, f->day, fingerprint);
        }
        if (q != NULL && sqlite3_step(q) == SQLITE_ROW && find_sums(f, fingerprint, &one)) {
            add(&all, 1, &(struct totals){1, one.count, one.total_ms});
        }
        sqlite3_reset(q);
    }
    sqlite3_finalize(q);
    return all;
}

/* Of all groups that are new. */
static struct totals totals_of_new(const struct search *f, bool hangs) {
    struct totals all = {0};
    sqlite3_stmt *q = sqlite_query(
        f->s, "SELECT count(*), sum(n), sum(ms) FROM (SELECT (SELECT sum(d.count) FROM group_day d WHERE"
              " d.fingerprint = g.fingerprint AND d.day >= ?4) AS n, (SELECT sum(d.total_ms) FROM group_day d"
              " WHERE d.fingerprint = g.fingerprint AND d.day >= ?4) AS ms" COUNTED ") WHERE n > 0");
    if (q != NULL) {
        sqlite_bind(q, "isii", (int64_t)hangs, f->f->app, f->new_ms, f->day);
    }
    add_row(&all, q);
    return all;
}

/* Of all groups. One that has reports in these days was seen last in them: the days of each need no look. */
static struct totals totals_of_all(const struct search *f, bool hangs) {
    struct totals all = {0};
    sqlite3_stmt *q = sqlite_query(f->s, "SELECT count(*), 0, 0" COUNTED " AND g.count > 0");
    if (q != NULL) {
        sqlite_bind(q, "isii", (int64_t)hangs, f->f->app, f->new_ms, f->day);
    }
    add_row(&all, q);
    q = sqlite_query(f->s, hangs ? "SELECT 0, sum(count), sum(total_ms)" OF_APP_DAY " AND kind " HANG_KINDS
                                 : "SELECT 0, sum(count), sum(total_ms)" OF_APP_DAY
                                   " AND NOT kind " HANG_KINDS " AND kind NOT IN ('session', 'live')");
    if (q != NULL) {
        sqlite_bind(q, "si", f->f->app, f->day);
    }
    add_row(&all, q);
    return all;
}

static json_t *totals(struct search *f) {
    const bool hangs = f->f->kinds != STORE_OTHERS;
    struct totals all;
    if (has_version(f->f) || has_origin(f->f)) {
        all = f->of_few;
    } else if (f->f->only != NULL) {
        all = totals_of(f, f->f->only, hangs);
    } else {
        all = f->f->only_new ? totals_of_new(f, hangs) : totals_of_all(f, hangs);
        const struct totals out = totals_of(f, f->f->without, hangs);
        add(&all, -1, &out);
    }
    return json_pack("{s:I, s:I, s:I}", "groups", (json_int_t)all.groups, "count", (json_int_t)all.count,
                     "total_ms", (json_int_t)all.total_ms);
}

int64_t sqlite_new_ms(void) {
    return ((int64_t)time(NULL) - STORE_NEW_DAYS * INT64_C(86400)) * 1000;
}

void sqlite_add_groups(struct sqlite *s, const struct store_group_filter *filter, json_t *page) {
    struct search f = {.s = s,
                       .f = filter,
                       .max = (size_t)filter->offset + STORE_ROWS_MAX,
                       .day = sqlite_first_day(filter->days),
                       .new_ms = filter->only_new ? sqlite_new_ms() : INT64_MIN};
    const int trend = filter->days < TREND_DAYS ? filter->days : TREND_DAYS;
    f.all = calloc(f.max + 1, sizeof *f.all);
    f.days = sqlite_query(
        s, "SELECT sum(count), sum(total_ms) FROM group_day WHERE fingerprint = ?1 AND day >= ?2");
    if (f.all != NULL && f.days != NULL) {
        void (*find)(struct search *f, bool hangs) =
            has_version(filter) || has_origin(filter) ? find_page_of_few : find_page;
        if (filter->kinds != STORE_OTHERS) {
            find(&f, true);
        }
        if (filter->kinds != STORE_HANGS && f.count < f.max) {
            find(&f, false);
        }
        json_t *groups = show(&f);
        json_object_set_new(page, "totals", totals(&f));
        json_object_set_new(page, "days", days_of(s, groups, sqlite_first_day(trend)));
        json_object_set_new(page, "groups", groups);
    }
    sqlite3_finalize(f.days);
    free(f.all);
}

json_t *sqlite_groups(void *file, const struct store_group_filter *filter) {
    struct sqlite *s = file;
    json_t *page = json_object();
    sqlite_start_reading(s);
    sqlite_run(s->reads, "BEGIN");
    sqlite_add_groups(s, filter, page);
    sqlite_run(s->reads, "COMMIT");
    pthread_mutex_unlock(&s->reading);
    return page;
}
