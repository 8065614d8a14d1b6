/* SPDX-License-Identifier: MIT
 *
 * Queries of reports: lists, search, and their texts. A moved report has rows in its old group too, until
 * ClickHouse merges the rows. The newest row of each group shows whether the report is in the group. Any
 * thread; one at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/json_text.h"
#include "collector/store/clickhouse_private.h"

#define ROWS(...) clickhouse_rows(c, &c->reads, __VA_ARGS__)
#define FIXED "id, kind, cause, app, version, system, started_ms, duration_ms, brief"
#define FOUND_MAX 50
#define ID_PREFIX_MIN 4
/* Rows that are looked at for each report that is wanted, at first. */
#define ROWS_OF_A_REPORT 2

static const char *text_or_none(const char *text) {
    return text != NULL ? text : "";
}

/* Reads the newest rows of a table with condition `which`. Reads only rows with a late start, since a group
 * may have millions. `from` finds a start time that gives enough rows, unless many of the rows have moved. */
static json_t *newest(struct clickhouse *c, const char *table, const char *which, int64_t offset,
                      int64_t limit) {
    json_t *reports = NULL;
    bool enough = false;
    for (int64_t rows = (offset + limit) * ROWS_OF_A_REPORT + 20; !enough; rows *= 8) {
        json_t *from = ROWS("SELECT started_ms FROM ?n WHERE ?n ORDER BY started_ms DESC LIMIT ?i, 1", table,
                            which, rows);
        const json_t *row = json_array_get(from, 0);
        bool moves = strcmp(table, "@report") == 0;
        json_decref(reports);
        reports =
            ROWS("SELECT " FIXED ", ?n FROM ?n WHERE ?n AND started_ms >= ?i GROUP BY " FIXED
                 "?n ORDER BY started_ms DESC, id LIMIT ?i, ?i",
                 moves ? "fingerprint, host, unit, container" : "argMax(fingerprint, changed) AS fingerprint",
                 table, which,
                 row != NULL ? (int64_t)json_integer_value(json_object_get(row, "started_ms")) : INT64_MIN,
                 moves ? ", fingerprint, host, unit, container HAVING argMax(sign, changed) > 0" : "", offset,
                 limit);
        enough = row == NULL || reports == NULL || (int64_t)json_array_size(reports) == limit;
        json_decref(from);
    }
    return reports;
}

/* The condition of a group's reports; the caller frees it. */
static char *of_group(struct clickhouse *c, const char *app, const char *fingerprint, const char *version,
                      const char *more) {
    struct clickhouse_bytes sql = {0};
    clickhouse_sql(c, &sql, "app = ?s AND fingerprint = ?s", app, fingerprint);
    if (version[0] != '\0') {
        clickhouse_sql(c, &sql, " AND version = ?s", version);
    }
    clickhouse_sql(c, &sql, more);
    return sql.data;
}

static json_t *newest_of(struct clickhouse *c, const char *app, const char *fingerprint, const char *version,
                         const char *more, int64_t offset, int64_t limit) {
    char *which = of_group(c, app, fingerprint, version, more);
    json_t *reports = which != NULL ? newest(c, "@report", which, offset, limit) : NULL;
    free(which);
    return reports;
}

/* Each report is named by its group. */
static json_t *with_names(struct clickhouse *c, json_t *reports) {
    json_t *pairs = json_array(), *by_name = json_object(), *report, *row;
    size_t i;
    json_array_foreach(reports, i, report) {
        if (json_text(report, "fingerprint")[0] != '\0') {
            json_array_append(pairs, report);
        }
    }
    json_t *rows =
        json_array_size(pairs) == 0
            ? NULL
            : ROWS("SELECT fingerprint, argMaxMerge(shown_function) AS function,"
                   " argMaxMerge(shown_place) AS place FROM @grouped WHERE (app, fingerprint) IN ?p"
                   " GROUP BY fingerprint",
                   pairs);
    json_array_foreach(rows, i, row) {
        json_object_set(by_name, json_text(row, "fingerprint"), row);
    }
    json_array_foreach(reports, i, report) {
        const json_t *named = json_object_get(by_name, json_text(report, "fingerprint"));
        json_object_set_new(report, "function", json_string(json_text(named, "function")));
        json_object_set_new(report, "place", json_string(json_text(named, "place")));
    }
    clickhouse_add_places(c, reports);
    json_decref(pairs);
    json_decref(by_name);
    json_decref(rows);
    return reports;
}

json_t *clickhouse_newest_of_group(struct clickhouse *c, const char *app, const char *fingerprint) {
    json_t *reports = newest_of(c, app, fingerprint, "", "", 0, FOUND_MAX), *report;
    size_t i;
    json_array_foreach(reports, i, report) {
        json_object_del(report, "fingerprint");
        json_object_del(report, "cause");
        json_object_del(report, "app");
    }
    return reports;
}

/* The app of a group; NULL: there is none. */
static json_t *app_of(struct clickhouse *c, const char *fingerprint) {
    return clickhouse_first(
        ROWS("SELECT app FROM @grouped WHERE fingerprint = ?s GROUP BY app HAVING sumMerge(n) > 0 LIMIT 1",
             fingerprint));
}

/* The newest reports of the group that pass the filter. */
static json_t *newest_filtered(struct clickhouse *c, const char *app, const struct store_filter *f) {
    char *group = of_group(c, app, f->fingerprint, text_or_none(f->version), "");
    struct clickhouse_bytes which = {0};
    json_t *reports = NULL;
    clickhouse_sql(c, &which, "?n", group != NULL ? group : "0");
    for (int i = 0; i < ORIGINS; i++) {
        if (text_or_none(f->origin[i])[0] != '\0') {
            clickhouse_sql(c, &which, " AND ?n = ?s", row_origin_names[i], f->origin[i]);
        }
    }
    if (!which.no_memory) {
        reports = newest(c, "@report", which.data, f->offset, f->limit);
    }
    free(which.data);
    free(group);
    return reports;
}

json_t *clickhouse_reports(void *at, const struct store_filter *f) {
    struct clickhouse *c = at;
    struct clickhouse_bytes which = {0};
    json_t *reports = NULL, *group = NULL;
    pthread_mutex_lock(&c->reads.lock);
    if (text_or_none(f->fingerprint)[0] != '\0') {
        group = app_of(c, f->fingerprint);
        reports = group != NULL ? newest_filtered(c, json_text(group, "app"), f) : json_array();
    } else {
        clickhouse_sql(c, &which, "kind = ?s?a", text_or_none(f->kind), text_or_none(f->app));
        if (f->days > 0) {
            clickhouse_sql(c, &which, " AND started_ms >= ?i",
                           ((int64_t)time(NULL) / 86400 - f->days) * INT64_C(86400000));
        }
        reports = which.data != NULL ? newest(c, "@others", which.data, f->offset, f->limit) : NULL;
    }
    reports = with_names(c, reports);
    pthread_mutex_unlock(&c->reads.lock);
    json_decref(group);
    free(which.data);
    return reports != NULL ? json_pack("{s:o}", "reports", reports) : NULL;
}

json_t *clickhouse_search(void *at, const char *words, const char *app, long offset) {
    struct clickhouse *c = at;
    bool is_id = strlen(words) >= ID_PREFIX_MIN && strspn(words, "0123456789abcdef-") == strlen(words);
    pthread_mutex_lock(&c->reads.lock);
    json_t *
        groups = ROWS(
           "SELECT app, fingerprint, " CLICKHOUSE_SHOWN
           ", sumMerge(n) AS count, sumMerge(total) AS total_ms, argMaxMerge(shown_path) AS path FROM @grouped"
           " WHERE 1?a GROUP BY app, fingerprint HAVING count > 0 AND (positionCaseInsensitive(function, ?s) > 0"
           " OR positionCaseInsensitive(place, ?s) > 0 OR positionCaseInsensitive(path, ?s) > 0 OR fingerprint = ?s"
           " OR fingerprint GLOBAL IN (SELECT fingerprint FROM @part WHERE part = 'version' AND value = ?s?a"
           " GROUP BY fingerprint HAVING sumMerge(n) > 0)) ORDER BY total_ms DESC LIMIT ?i, ?i",
           app, words, words, words, words, words, app, (int64_t)offset, (int64_t)FOUND_MAX),
       *group;
    json_t *reports =
        is_id ? ROWS("SELECT " FIXED ", argMax(fingerprint, changed) AS fingerprint FROM @ids WHERE"
                     " id >= ?s AND id < concat(?s, 'g')?a GROUP BY " FIXED " ORDER BY id LIMIT ?i",
                     words, words, app, (int64_t)FOUND_MAX)
              : json_array();
    reports = with_names(c, reports);
    size_t i;
    json_array_foreach(groups, i, group) {
        json_object_del(group, "path");
    }
    pthread_mutex_unlock(&c->reads.lock);
    return groups != NULL && reports != NULL ? json_pack("{s:o, s:o}", "groups", groups, "reports", reports)
                                             : NULL;
}

static unsigned digit(char c) {
    return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* A body comes as digits: it is no text. The caller frees what it gets; NULL: it is no report. */
static void *body_of(const json_t *row, size_t *bytes) {
    const char *hex = json_string_value(json_object_get(row, "body"));
    size_t n = hex != NULL ? strlen(hex) / 2 : 0;
    unsigned char *body = n > 0 ? malloc(n) : NULL;
    for (size_t i = 0; body != NULL && i < n; i++) {
        body[i] = (unsigned char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    }
    *bytes = n;
    return body;
}

char *clickhouse_text_of(const json_t *row, size_t *bytes) {
    size_t n;
    void *body = body_of(row, &n);
    char *text = body != NULL ? row_text(body, n, bytes) : NULL;
    free(body);
    return text;
}

void *clickhouse_report_body(void *at, const char *id, size_t *bytes) {
    struct clickhouse *c = at;
    void *body = NULL;
    pthread_mutex_lock(&c->reads.lock);
    json_t *key = clickhouse_first(
               ROWS("SELECT app, started_ms, argMax(fingerprint, changed) AS fingerprint FROM @ids"
                    " WHERE id = ?s GROUP BY app, started_ms",
                    id)),
           *row = NULL;
    if (key != NULL) {
        row =
            clickhouse_first(ROWS("SELECT hex(argMax(body, changed)) AS body FROM @report WHERE app = ?s AND"
                                  " fingerprint = ?s AND started_ms = ?i AND id = ?s",
                                  json_text(key, "app"), json_text(key, "fingerprint"),
                                  (int64_t)json_integer_value(json_object_get(key, "started_ms")), id));
        body = body_of(row, bytes);
    }
    pthread_mutex_unlock(&c->reads.lock);
    json_decref(key);
    json_decref(row);
    return body;
}

/* One query, since two versions ask for the stacks of fifty groups. Where many of the newest reports have
 * moved away, it finds fewer. */
static json_t *bodies_of(struct clickhouse *c, const struct store_filter *f) {
    json_t *group = app_of(c, text_or_none(f->fingerprint)), *bodies = NULL;
    char *which = group != NULL ? of_group(c, json_text(group, "app"), f->fingerprint,
                                           text_or_none(f->version), " AND brief = 0")
                                : NULL;
    if (which != NULL) {
        bodies = ROWS(
            "SELECT started_ms, id, hex(argMax(body, changed)) AS body FROM @report WHERE ?n AND"
            " started_ms >= (SELECT min(started_ms) FROM (SELECT started_ms FROM @report WHERE ?n"
            " ORDER BY started_ms DESC LIMIT ?i)) GROUP BY started_ms, id HAVING argMax(sign, changed) > 0"
            " ORDER BY started_ms DESC, id LIMIT ?i",
            which, which, (int64_t)f->limit * ROWS_OF_A_REPORT + 20, (int64_t)f->limit);
    }
    json_decref(group);
    free(which);
    return bodies;
}

void clickhouse_each_report(void *at, const struct store_filter *f,
                            void (*take)(void *to, const char *text, size_t bytes), void *to) {
    struct clickhouse *c = at;
    size_t i;
    json_t *row;
    pthread_mutex_lock(&c->reads.lock);
    json_t *rows = bodies_of(c, f);
    pthread_mutex_unlock(&c->reads.lock);
    json_array_foreach(rows, i, row) {
        size_t bytes = 0;
        char *text = clickhouse_text_of(row, &bytes);
        if (text != NULL) {
            take(to, text, bytes);
        }
        free(text);
    }
    json_decref(rows);
}

static json_t *column_of(const json_t *rows, const char *member) {
    json_t *column = json_array();
    const json_t *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        json_array_append(column, json_object_get(row, member));
    }
    return column;
}

/* The ids first: a query that sorts whole texts would read those of all reports. */
static json_t *bodies_of_groups(struct clickhouse *c, const struct store_groups *of) {
    json_t *newest =
        ROWS("SELECT fingerprint, started_ms, id FROM @report WHERE app = ?s AND fingerprint IN ?l"
             " AND version = ?s AND brief = 0 GROUP BY fingerprint, started_ms, id HAVING"
             " argMax(sign, changed) > 0 ORDER BY started_ms DESC, id LIMIT ?i BY fingerprint",
             of->app, of->fingerprints, of->version, (int64_t)of->each);
    const size_t count = json_array_size(newest);
    const json_t *oldest = json_object_get(json_array_get(newest, count > 0 ? count - 1 : 0), "started_ms");
    json_t *ids = column_of(newest, "id"), *bodies = NULL;
    if (count > 0) {
        bodies =
            ROWS("SELECT fingerprint, hex(argMax(body, changed)) AS body FROM @report WHERE app = ?s AND"
                 " fingerprint IN ?l AND started_ms >= ?i AND id IN ?l GROUP BY fingerprint, started_ms, id"
                 " HAVING argMax(sign, changed) > 0 ORDER BY started_ms DESC, id",
                 of->app, of->fingerprints, (int64_t)json_integer_value(oldest), ids);
    }
    json_decref(ids);
    json_decref(newest);
    return bodies;
}

static size_t place_in(const json_t *texts, const char *text) {
    size_t i = 0;
    while (i < json_array_size(texts) && strcmp(json_string_value(json_array_get(texts, i)), text) != 0) {
        i++;
    }
    return i;
}

void clickhouse_each_of_groups(void *at, const struct store_groups *of,
                               void (*take)(void *to, size_t group, const char *text, size_t bytes),
                               void *to) {
    struct clickhouse *c = at;
    size_t i;
    json_t *row;
    if (json_array_size(of->fingerprints) == 0) {
        return;
    }
    pthread_mutex_lock(&c->reads.lock);
    json_t *rows = bodies_of_groups(c, of);
    pthread_mutex_unlock(&c->reads.lock);
    json_array_foreach(rows, i, row) {
        size_t bytes = 0, group = place_in(of->fingerprints, json_text(row, "fingerprint"));
        char *text = clickhouse_text_of(row, &bytes);
        if (text != NULL && group < json_array_size(of->fingerprints)) {
            take(to, group, text, bytes);
        }
        free(text);
    }
    json_decref(rows);
}
