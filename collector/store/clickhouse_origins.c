/* SPDX-License-Identifier: MIT
 *
 * Hosts, units, containers and images, with the members of sqlite_origins.c. Any thread; one at a time.
 */
#include <stdlib.h>
#include <time.h>

#include "cli/base/json_text.h"
#include "collector/store/clickhouse_private.h"

#define ROWS(...) clickhouse_rows(c, &c->reads, __VA_ARGS__)
#define DAY_MS INT64_C(86400000)
#define TOTALS "sumMerge(n) AS count, sumMerge(total) AS total_ms"
#define SHOWN 50

void clickhouse_add_origins(struct clickhouse *c, json_t *group) {
    static const char *const members[ORIGINS] = {"hosts", "units", "containers", "images"};
    const char *app = json_text(group, "app"), *fingerprint = json_text(group, "fingerprint");
    for (int i = 0; i < ORIGINS; i++) {
        json_object_set_new(group, members[i],
                            ROWS("SELECT name, " TOTALS
                                 " FROM @origin WHERE app = ?s AND fingerprint = ?s AND part = ?s"
                                 " GROUP BY name HAVING count > 0 ORDER BY total_ms DESC, name LIMIT ?i",
                                 app, fingerprint, row_origin_names[i], (int64_t)SHOWN));
    }
    json_t *counted =
        clickhouse_first(ROWS("SELECT count() AS hosts FROM (SELECT name FROM @origin WHERE app = ?s AND"
                              " fingerprint = ?s AND part = 'host' GROUP BY name HAVING sumMerge(n) > 0)",
                              app, fingerprint));
    json_object_set(group, "host_count", json_object_get(counted, "hosts"));
    json_decref(counted);
}

void clickhouse_count_hosts(struct clickhouse *c, json_t *groups) {
    json_t *counted = json_array_size(groups) == 0
                          ? NULL
                          : ROWS("SELECT fingerprint, count() AS hosts FROM (SELECT fingerprint, name FROM"
                                 " @origin WHERE part = 'host' AND (app, fingerprint) IN ?p GROUP BY"
                                 " fingerprint, name HAVING sumMerge(n) > 0) GROUP BY fingerprint",
                                 groups),
           *group, *row;
    size_t i, j;
    json_array_foreach(groups, i, group) {
        json_object_set_new(group, "hosts", json_integer(0));
        json_array_foreach(counted, j, row) {
            if (json_equal(json_object_get(row, "fingerprint"), json_object_get(group, "fingerprint"))) {
                json_object_set(group, "hosts", json_object_get(row, "hosts"));
            }
        }
    }
    json_decref(counted);
}

/* The keys of the table `report`, of all reports that have no host yet. The caller frees `data`. */
static struct clickhouse_bytes keys_of(struct clickhouse *c, const json_t *reports) {
    struct clickhouse_bytes keys = {0};
    const json_t *report;
    size_t i;
    json_array_foreach(reports, i, report) {
        if (json_object_get(report, "host") == NULL) {
            clickhouse_sql(c, &keys, "?n(?s, ?s, ?i, ?s)", keys.used > 0 ? ", " : "",
                           json_text(report, "app"), json_text(report, "fingerprint"),
                           (int64_t)json_integer_value(json_object_get(report, "started_ms")),
                           json_text(report, "id"));
        }
    }
    return keys;
}

void clickhouse_add_places(struct clickhouse *c, json_t *reports) {
    static const char *const places[] = {"host", "unit", "container"};
    struct clickhouse_bytes keys = keys_of(c, reports);
    json_t *
        rows =
           keys.used == 0 || keys.no_memory
               ? NULL
               : ROWS(
                     "SELECT id, any(host) AS host, any(unit) AS unit, any(container) AS container FROM @report"
                     " WHERE (app, fingerprint, started_ms, id) IN (?n) GROUP BY id",
                     keys.data),
       *by_id = json_object(), *report, *row;
    size_t i;
    free(keys.data);
    json_array_foreach(rows, i, row) {
        json_object_set(by_id, json_text(row, "id"), row);
    }
    json_array_foreach(reports, i, report) {
        for (size_t n = 0; n < sizeof places / sizeof places[0]; n++) {
            if (json_object_get(report, places[n]) == NULL) {
                const json_t *found = json_object_get(by_id, json_text(report, "id"));
                json_object_set_new(report, places[n], json_string(json_text(found, places[n])));
            }
        }
    }
    json_decref(by_id);
    json_decref(rows);
}

static int64_t first_ms(int days) {
    return ((int64_t)time(NULL) / 86400 - days) * DAY_MS;
}

void clickhouse_add_origin_counts(struct clickhouse *c, const char *app, int days, json_t *page) {
    json_t *counted = clickhouse_first(
        ROWS("SELECT countIf(part = 'host') AS hosts, countIf(part = 'unit') AS units FROM (SELECT part, name"
             " FROM @app_origin WHERE 1?a GROUP BY part, name HAVING maxMerge(last) >= ?i)",
             app, first_ms(days)));
    json_object_update(page, counted);
    json_decref(counted);
}

json_t *clickhouse_origins(void *at, const struct store_origin_filter *f) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->reads.lock);
    json_t *rows = ROWS(
        "SELECT name, uniqExact(app) AS apps, " TOTALS ", sumMerge(runs) AS runs, sumMerge(used) AS used_ms,"
        " minMerge(first) AS first_ms, maxMerge(last) AS last_ms FROM @app_origin WHERE part = ?s?a GROUP BY name"
        " ORDER BY total_ms DESC, count DESC, name LIMIT ?i, ?i",
        f->part, f->app, (int64_t)f->offset, (int64_t)STORE_ROWS_MAX);
    json_t *counted = clickhouse_first(
        ROWS("SELECT uniqExact(name) AS total FROM @app_origin WHERE part = ?s?a", f->part, f->app));
    json_t *by_app =
        ROWS("SELECT app, count() AS names FROM (SELECT app, name FROM @app_origin WHERE part = ?s"
             " GROUP BY app, name HAVING maxMerge(last) >= ?i) GROUP BY app ORDER BY names DESC, app"
             " LIMIT ?i",
             f->part, first_ms(STORE_ORIGIN_DAYS), (int64_t)STORE_ROWS_MAX);
    json_t *apps = rows != NULL ? clickhouse_apps(c) : NULL;
    pthread_mutex_unlock(&c->reads.lock);
    json_t *all = rows != NULL ? json_pack("{s:o, s:o*, s:o*, s:O?}", "rows", rows, "by_app", by_app, "apps",
                                           apps, "total", json_object_get(counted, "total"))
                               : NULL;
    json_decref(counted);
    return all;
}
