/* SPDX-License-Identifier: MIT
 *
 * The groups of some days, in an order, a page at a time; and their totals: as sqlite_groups.c has them. Any
 * thread; one at a time.
 */
#include <stdlib.h>
#include <time.h>

#include "collector/store/clickhouse_private.h"

#define ROWS(...) clickhouse_rows(c, &c->reads, __VA_ARGS__)
#define DAY_MS INT64_C(86400000)
/* A group's trend has no more. */
#define TREND_DAYS 30
#define TOTALS "sumMerge(n) AS count, sumMerge(total) AS total_ms"

static int64_t first_day(int days) {
    return (int64_t)time(NULL) / 86400 - days;
}

static int64_t new_ms(void) {
    return (int64_t)time(NULL) * 1000 - STORE_NEW_DAYS * DAY_MS;
}

static json_t *names_of(const json_t *object) {
    json_t *names = json_array(), *value;
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        json_array_append_new(names, json_string(name));
    }
    return names;
}

/* The groups that the filter wants, of all kinds, as a query of app, fingerprint, count, total_ms and
 * is_hang. The caller frees it. */
static char *wanted(struct clickhouse *c, const struct store_group_filter *f) {
    static const char *const kinds[] = {
        [STORE_ALL_KINDS] = "", [STORE_HANGS] = " AND is_hang = 1", [STORE_OTHERS] = " AND is_hang = 0"};
    struct clickhouse_bytes sql = {0};
    json_t *only = names_of(f->only), *without = names_of(f->without);
    if (f->version != NULL && f->version[0] != '\0') {
        clickhouse_sql(c, &sql,
                       "SELECT app, fingerprint, " TOTALS ", max(hang) AS is_hang FROM @part WHERE"
                       " part = 'version' AND value = ?s?a",
                       f->version, f->app);
    } else if (f->part != NULL && f->name[0] != '\0') {
        clickhouse_sql(c, &sql,
                       "SELECT app, fingerprint, " TOTALS ", max(hang) AS is_hang FROM @origin WHERE"
                       " part = ?s AND name = ?s?a",
                       f->part, f->name, f->app);
    } else {
        clickhouse_sql(c, &sql,
                       "SELECT app, fingerprint, " TOTALS ", max(hang) AS is_hang FROM @group_day WHERE"
                       " day >= ?i?a",
                       first_day(f->days), f->app);
    }
    if (f->only != NULL) {
        clickhouse_sql(c, &sql, " AND fingerprint IN ?l", only);
    }
    if (json_array_size(without) > 0) {
        clickhouse_sql(c, &sql, " AND fingerprint NOT IN ?l", without);
    }
    if (f->only_new) {
        clickhouse_sql(c, &sql,
                       " AND fingerprint GLOBAL IN (SELECT fingerprint FROM @grouped GROUP BY fingerprint"
                       " HAVING minMerge(first) >= ?i)",
                       new_ms());
    }
    clickhouse_sql(c, &sql, " GROUP BY app, fingerprint HAVING count > 0?n", kinds[f->kinds]);
    json_decref(only);
    json_decref(without);
    if (sql.no_memory) {
        free(sql.data);
        return NULL;
    }
    return sql.data;
}

/* The page's groups, with their sums. */
static json_t *page_of(struct clickhouse *c, const struct store_group_filter *f, const char *all) {
    static const char *const orders[] = {[STORE_BY_USERS] = "uniqMerge(users)",
                                         [STORE_BY_LAST] = "maxMerge(last)",
                                         [STORE_BY_FIRST] = "minMerge(first)"};
    const int64_t limit = STORE_ROWS_MAX;
    if (f->order == STORE_BY_TIME || f->order == STORE_BY_COUNT) {
        return ROWS("?n ORDER BY is_hang DESC, ?n DESC, ?n DESC, fingerprint LIMIT ?i, ?i", all,
                    f->order == STORE_BY_TIME ? "total_ms" : "count",
                    f->order == STORE_BY_TIME ? "count" : "total_ms", (int64_t)f->offset, limit);
    }
    /* The order is of the groups' whole life, which is in another table. */
    json_t *page =
               ROWS("SELECT app, fingerprint, ?n AS sorted, argMinMerge(first_kind) = 'hang' AS is_hang FROM"
                    " @grouped WHERE fingerprint GLOBAL IN (SELECT fingerprint FROM (?n)) GROUP BY app,"
                    " fingerprint HAVING sumMerge(n) > 0 ORDER BY is_hang DESC, sorted DESC, fingerprint"
                    " LIMIT ?i, ?i",
                    orders[f->order], all, (int64_t)f->offset, limit),
           *sums = NULL, *group, *sum;
    size_t i, j;
    if (json_array_size(page) > 0) {
        sums =
            ROWS("SELECT fingerprint, count, total_ms FROM (?n) WHERE (app, fingerprint) IN ?p", all, page);
    }
    json_array_foreach(page, i, group) {
        json_object_del(group, "sorted");
        json_array_foreach(sums, j, sum) {
            if (json_equal(json_object_get(sum, "fingerprint"), json_object_get(group, "fingerprint"))) {
                json_object_update(group, sum);
            }
        }
    }
    json_decref(sums);
    return page;
}

static json_t *totals_of(struct clickhouse *c, const struct store_group_filter *f, const char *all) {
    json_t *totals = clickhouse_first(
        ROWS("SELECT count() AS groups, sum(count) AS count, sum(total_ms) AS total_ms FROM (?n) WHERE"
             " is_hang = ?i",
             all, (int64_t)(f->kinds != STORE_OTHERS)));
    return totals != NULL ? totals : json_pack("{s:i, s:i, s:i}", "groups", 0, "count", 0, "total_ms", 0);
}

bool clickhouse_add_groups(struct clickhouse *c, const struct store_group_filter *f, json_t *to) {
    char *all = wanted(c, f);
    json_t *groups = all != NULL ? page_of(c, f, all) : NULL, *group;
    size_t i;
    if (groups != NULL) {
        json_object_set_new(to, "totals", totals_of(c, f, all));
        groups = json_array_size(groups) > 0 ? clickhouse_with_shown(c, groups) : groups;
        clickhouse_count_hosts(c, groups);
        json_object_set_new(to, "days",
                            ROWS("SELECT day, fingerprint, sumMerge(total) AS total_ms FROM @group_day WHERE"
                                 " day >= ?i AND (app, fingerprint) IN ?p GROUP BY day, fingerprint"
                                 " HAVING sumMerge(n) > 0 ORDER BY fingerprint, day",
                                 first_day(f->days < TREND_DAYS ? f->days : TREND_DAYS), groups));
    }
    json_array_foreach(groups, i, group) {
        bool is_new = json_integer_value(json_object_get(group, "first_ms")) >= new_ms();
        json_object_set_new(group, "is_new", json_boolean(is_new));
        json_object_del(group, "is_hang");
    }
    free(all);
    return groups != NULL && json_object_set_new(to, "groups", groups) == 0;
}

json_t *clickhouse_groups(void *at, const struct store_group_filter *filter) {
    struct clickhouse *c = at;
    json_t *page = json_object();
    pthread_mutex_lock(&c->reads.lock);
    bool well = clickhouse_add_groups(c, filter, page);
    pthread_mutex_unlock(&c->reads.lock);
    if (!well) {
        json_decref(page);
        page = NULL;
    }
    return page;
}
