/* SPDX-License-Identifier: MIT
 * The tables. ClickHouse itself derives further tables from reports by views: look-up tables and the sums
 * that pages read. A report that moves to another group has two rows. The row with sign -1 subtracts the
 * report from the old group's sums, the row with sign 1 adds it to the new group's sums. `changed` shows the
 * newest row of a report.
 *
 * `week` is the week of arrival: whole weeks are removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/clickhouse_private.h"

#define LOW_CARDINALITY_SINCE 20000
#define CODEC_SINCE 20000
#define FSYNC_SINCE 21003

#define HEAD "id, fingerprint, session, app, version, system, kind, cause, started_ms, duration_ms, brief"
#define AGGREGATES(key) " ENGINE = AggregatingMergeTree PARTITION BY week ORDER BY (" key ") AS SELECT week, "
#define SUMS "sumState(toInt64(sign)) AS n, sumState(counted_ms * sign) AS total"
#define SEEN "minState(started_ms) AS first, maxState(started_ms) AS last"
#define ORIGIN                                                                                                     \
    "arrayJoin(['host', 'unit', 'container', 'image']) AS part, multiIf(part = 'host', host, part = 'unit', unit," \
    " part = 'container', container, image) AS name"
#define GROUPED " FROM #report WHERE fingerprint <> '' GROUP BY week, app, fingerprint"

static const struct {
    const char *name, *definition;
    const char *shard; /* by which rows of this table are spread; only the collector's own inserts need it */
} tables[] = {
    {"report", NULL, "id"},
    /* The group of each fingerprint, and the paths that new ones are compared with. Each regrouping begins an
     * epoch. */
    {"way",
     "CREATE TABLE IF NOT EXISTS #way(family String, way String, fingerprint String, app String, frames String,"
     " stand Int64, epoch Int64, changed Int64) ENGINE = ReplacingMergeTree(changed)"
     " ORDER BY (family, way, epoch, fingerprint)",
     "family"},
    {"ids",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #ids ENGINE = ReplacingMergeTree(changed) PARTITION BY week ORDER BY id"
     " AS SELECT week, changed, " HEAD " FROM #report WHERE sign > 0",
     "id"},
    {"runs",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #runs ENGINE = ReplacingMergeTree(changed) PARTITION BY week ORDER BY"
     " (session, own_fingerprint) AS SELECT week, changed, session, own_fingerprint, version, fingerprint"
     " FROM #report WHERE sign > 0 AND brief = 0 AND session <> '' AND kind <> 'session'",
     "session"},
    {"unnamed",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #unnamed ENGINE = ReplacingMergeTree(changed) PARTITION BY week ORDER BY"
     " (build_id, id) AS SELECT week, changed, arrayJoin(unnamed) AS build_id, id, toUInt8(1) AS waits FROM #report"
     " WHERE sign > 0",
     "id"},
    {"others",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #others ENGINE = ReplacingMergeTree(changed) PARTITION BY week"
     " ORDER BY (kind, app, started_ms, id) AS SELECT week, changed, " HEAD
     " FROM #report WHERE sign > 0 AND kind NOT IN ('hang', 'session')",
     "id"},
    {"grouped",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #grouped" AGGREGATES(
         "app, fingerprint") "app, fingerprint, argMaxState(function, stand) AS shown_function, argMaxState(place,"
                             " stand) AS shown_place, argMaxState(path, stand) AS shown_path, argMinState(cause,"
                             " changed) AS first_cause, argMinState(by_owner, changed) AS first_owner,"
                             " argMinState(rule, changed) AS first_rule, argMinState(group_kind, changed) AS"
                             " first_kind, " SUMS
                             ", uniqState(who) AS users, uniqState(version) AS versions, maxState(duration_ms) AS"
                             " most, " SEEN GROUPED,
     "fingerprint"},
    {"group_day",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #group_day" AGGREGATES(
         "app, fingerprint, day") "app, fingerprint, toInt32(intDiv(started_ms, 86400000)) AS day,"
                                  " max(group_kind = 'hang') AS hang, " SUMS GROUPED ", day",
     "fingerprint"},
    {"part",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #part" AGGREGATES(
         "part, app, fingerprint, value") "app, fingerprint, arrayJoin(['version', 'system', 'kind', 'step']) AS part,"
                                          " multiIf(part = 'version', version, part = 'system', system, part = 'kind',"
                                          " kind, toString(step)) AS value, max(group_kind = 'hang') AS hang, " SUMS
                                          ", " SEEN GROUPED ", part, value",
     "fingerprint"},
    {"label",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #label" AGGREGATES(
         "app, fingerprint, label") "app, fingerprint, label, " SUMS
                                    " FROM #report WHERE fingerprint <> '' AND label <> '' GROUP BY week, app,"
                                    " fingerprint, label",
     "fingerprint"},
    {"origin",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #origin" AGGREGATES(
         "app, fingerprint, part, name") "app, fingerprint, " ORIGIN
                                         ", max(group_kind = 'hang') AS hang, " SUMS GROUPED
                                         ", part, name HAVING name <> ''",
     "fingerprint"},
    {"app_origin",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #app_origin" AGGREGATES(
         "app, part, name") "app, " ORIGIN ", sumState(toInt64(" CLICKHOUSE_HANGS ") * sign) AS n,"
                            " sumState((" CLICKHOUSE_HANGS ") * counted_ms * sign) AS total,"
                            " sumState(toInt64(kind = 'session') * sign) AS runs,"
                            " sumState((kind = 'session') * counted_ms * sign) AS used, " SEEN
                            " FROM #report GROUP BY week, app, part, name HAVING name <> ''",
     "app"},
    {"app_day",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #app_day" AGGREGATES(
         "app, day, version, kind") "app, toInt32(intDiv(started_ms, 86400000)) AS day, version, kind, " SUMS
                                    ", sumState(toInt64(hang_free) * sign) AS free FROM #report GROUP BY week, app,"
                                    " day, version, kind",
     "app"},
    {"app_version",
     "CREATE MATERIALIZED VIEW IF NOT EXISTS #app_version" AGGREGATES(
         "app, version") "app, version, sumState(toInt64(" CLICKHOUSE_HANGS ") * sign) AS n,"
                         " sumState((" CLICKHOUSE_HANGS ") * counted_ms * sign) AS total,"
                         " sumState(toInt64(kind = 'session') * sign) AS runs,"
                         " sumState((kind = 'session') * counted_ms * sign) AS used, " SEEN
                         " FROM #report GROUP BY week, app, version",
     "app"}};
#define TABLES (sizeof tables / sizeof tables[0])

const char *clickhouse_table_of_weeks(size_t i) {
    /* Ways stay: the groups of the reports to come follow from them. */
    return i == 0 ? tables[0].name : i + 1 < TABLES ? tables[i + 1].name : NULL;
}

static bool make_one(struct clickhouse *c, struct clickhouse_line *line, size_t host, const char *format,
                     ...) {
    struct clickhouse_bytes sql = {0}, answer = {0};
    va_list values;
    bool is_down;
    va_start(values, format);
    clickhouse_sql_list(c, &sql, format, values);
    va_end(values);
    bool made = !sql.no_memory && clickhouse_ask_host(c, line, host, sql.data, NULL, &answer, &is_down);
    free(sql.data);
    free(answer.data);
    return made;
}

static bool make_report_table(struct clickhouse *c, struct clickhouse_line *line, size_t host) {
    char sql[2048];
    const char *word = c->version >= LOW_CARDINALITY_SINCE ? "LowCardinality(String)" : "String";
    snprintf(
        sql, sizeof sql,
        "CREATE TABLE IF NOT EXISTS #report(id String, fingerprint String, app %s, version %s, system %s,"
        " kind %s, cause %s, session String, who String, own_fingerprint String, brief UInt8, started_ms Int64,"
        " duration_ms Int64, counted_ms Int64, received_ms Int64, changed Int64, stand Int64, week Date, step UInt8,"
        " hang_free UInt8, rule UInt8, sign Int8, function String, place String, by_owner UInt8, path String,"
        " group_kind %s, body String%s, unnamed Array(String)) ENGINE = ReplacingMergeTree(changed) PARTITION BY week"
        " ORDER BY (app, fingerprint, started_ms, id) SETTINGS index_granularity = 1024%s",
        word, word, word, word, word, word, c->version >= CODEC_SINCE ? " CODEC(NONE)" : "",
        c->version >= FSYNC_SINCE ? ", fsync_after_insert = 1, fsync_part_directory = 1" : "");
    return make_one(c, line, host, sql);
}

/* A database of an earlier form lacks a column: what is made of it is not what it is here. */
static bool is_of_this_form(struct clickhouse *c, struct clickhouse_line *line, size_t host) {
    if (make_one(c, line, host, "SELECT unnamed FROM #report LIMIT 1")) {
        return true;
    }
    snprintf(
        line->error, sizeof line->error,
        "the database %s has tables of an earlier hangdog, which cannot be changed; name another database,"
        " or drop it",
        c->database);
    return false;
}

/* Gives tables of an earlier hangdog this column. The table of all shards comes first. It may not be there
 * yet; then it is made of the other one. Another collector may add the column at the same time. */
static bool make_column(struct clickhouse *c, struct clickhouse_line *line, size_t host, const char *name) {
    static const char look[] = "SELECT ?n FROM #report LIMIT 1";
    if (make_one(c, line, host, look, name)) {
        return true;
    }
    (void)make_one(c, line, host, "ALTER TABLE @report ADD COLUMN ?n String", name);
    return make_one(c, line, host, "ALTER TABLE #report ADD COLUMN ?n String", name) ||
           make_one(c, line, host, look, name);
}

static bool make_columns(struct clickhouse *c, struct clickhouse_line *line, size_t host) {
    bool made = make_column(c, line, host, "label");
    for (int i = 0; made && i < ORIGINS; i++) {
        made = make_column(c, line, host, row_origin_names[i]);
    }
    return made;
}

static bool make_tables_on(struct clickhouse *c, struct clickhouse_line *line, size_t host) {
    char sql[256];
    snprintf(sql, sizeof sql, "CREATE DATABASE IF NOT EXISTS %s", c->database);
    bool made = make_one(c, line, host, sql) && make_report_table(c, line, host) &&
                is_of_this_form(c, line, host) && make_columns(c, line, host);
    for (size_t i = 1; made && i < TABLES; i++) {
        made = make_one(c, line, host, tables[i].definition);
    }
    for (size_t i = 0; made && c->cluster[0] != '\0' && i < TABLES; i++) {
        snprintf(
            sql, sizeof sql,
            "CREATE TABLE IF NOT EXISTS @%s AS #%s ENGINE = Distributed(%s, %s, %s_local, sipHash64(%s))",
            tables[i].name, tables[i].name, c->cluster, c->database, tables[i].name, tables[i].shard);
        made = make_one(c, line, host, sql);
    }
    return made;
}

bool clickhouse_make_tables(struct clickhouse *c, struct clickhouse_line *line) {
    for (size_t i = 0; i < c->hosts; i++) {
        struct clickhouse_bytes answer = {0};
        bool is_down = false;
        if (c->host[i].has_tables) {
            continue;
        }
        bool answers = clickhouse_ask_host(c, line, i, "SELECT 1", NULL, &answer, &is_down);
        free(answer.data);
        if (!answers && is_down) {
            continue; /* the host gets the tables when it is back */
        }
        c->host[i].has_tables = answers && make_tables_on(c, line, i);
        if (!c->host[i].has_tables) {
            return false;
        }
    }
    return true;
}
