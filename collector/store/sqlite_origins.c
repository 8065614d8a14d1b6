/* SPDX-License-Identifier: MIT
 *
 * Hosts, units, containers and images: of a group, of an app, and of all. Any thread; one at a time.
 */
#include "collector/store/sqlite_private.h"

#define SHOWN "50"

void sqlite_add_origins(struct sqlite *s, const char *fingerprint, json_t *group) {
    static const char *const members[ORIGINS] = {"hosts", "units", "containers", "images"};
    for (int i = 0; i < ORIGINS; i++) {
        json_object_set_new(
            group, members[i],
            sqlite_select(
                s,
                "SELECT name, count, total_ms FROM group_origin WHERE fingerprint = ?1 AND part = ?2"
                " ORDER BY name = '', total_ms DESC, name LIMIT " SHOWN,
                "ss", fingerprint, row_origin_names[i]));
    }
    json_t *counted =
        sqlite_select(s,
                      "SELECT count(*) AS hosts FROM group_origin WHERE fingerprint = ?1 AND part"
                      " = 'host' AND name <> ''",
                      "s", fingerprint);
    json_object_set(group, "host_count", json_object_get(json_array_get(counted, 0), "hosts"));
    json_decref(counted);
}

void sqlite_add_origin_counts(struct sqlite *s, const char *app, int64_t day, json_t *page) {
    json_t *counted = sqlite_select(s,
                                    "SELECT count(DISTINCT iif(part = 'host', name, NULL)) AS hosts,"
                                    " count(DISTINCT iif(part = 'unit', name, NULL)) AS units FROM app_origin"
                                    " WHERE (?1 = '' OR app = ?1) AND last_ms >= ?2 AND name <> ''",
                                    "si", app, day * DAY_MS);
    json_object_update(page, json_array_get(counted, 0));
    json_decref(counted);
}

json_t *sqlite_origins(void *file, const struct store_origin_filter *f) {
    struct sqlite *s = file;
    sqlite_start_reading(s);
    json_t *rows = sqlite_select(
        s,
        "SELECT name, count(*) AS apps, sum(count) AS count, sum(total_ms) AS total_ms, sum(runs) AS runs,"
        " sum(used_ms) AS used_ms, min(first_ms) AS first_ms, max(last_ms) AS last_ms FROM app_origin"
        " WHERE part = ?1 AND (?2 = '' OR app = ?2) AND name <> '' GROUP BY name"
        " ORDER BY 4 DESC, 3 DESC, 1 LIMIT ?3 OFFSET ?4",
        "ssii", f->part, f->app, (int64_t)STORE_ROWS_MAX, (int64_t)f->offset);
    json_t *counted = sqlite_select(
        s,
        "SELECT count(DISTINCT name) AS total FROM app_origin WHERE part = ?1 AND (?2 = '' OR app = ?2) AND name <> ''",
        "ss", f->part, f->app);
    json_t *by_app =
        sqlite_select(s,
                      "SELECT app, count(*) AS names FROM app_origin WHERE part = ?1 AND name <> ''"
                      " AND last_ms >= ?2 GROUP BY app ORDER BY 2 DESC, 1 LIMIT ?3",
                      "sii", f->part, sqlite_first_day(STORE_ORIGIN_DAYS) * DAY_MS, (int64_t)STORE_ROWS_MAX);
    json_t *apps = sqlite_apps(s);
    pthread_mutex_unlock(&s->reading);
    json_t *all = json_pack("{s:o, s:o, s:o, s:O?}", "rows", rows, "by_app", by_app, "apps", apps, "total",
                            json_object_get(json_array_get(counted, 0), "total"));
    json_decref(counted);
    return all;
}
