/* SPDX-License-Identifier: MIT */
#include "collector/store/clickhouse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/store/clickhouse_private.h"

#define LOW_CARDINALITY_SINCE 20000
#define CODEC_SINCE 20000
#define FSYNC_SINCE 21003

/* Only names: they stand in queries without quotes. */
static bool is_name(const char *text, size_t n) {
    return n > 0 && n < 64 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") >= n;
}

static bool read_url(struct clickhouse *c, const char *url) {
    static const char scheme[] = "clickhouse://", option[] = "?cluster=";
    if (strncmp(url, scheme, sizeof scheme - 1) != 0) {
        return false;
    }
    const char *at = url + sizeof scheme - 1, *slash = strchr(at, '/');
    while (slash != NULL && at < slash && c->hosts < CLICKHOUSE_HOSTS_MAX) {
        size_t n = strcspn(at, ",/");
        struct clickhouse_host *h = &c->host[c->hosts++];
        if (n == 0 || n >= sizeof h->address || memchr(at, ':', n) == NULL || memchr(at, '@', n) != NULL) {
            return false;
        }
        snprintf(h->address, sizeof h->address, "%.*s", (int)n, at);
        at += at[n] == ',' ? n + 1 : n;
    }
    if (slash == NULL || at != slash) {
        return false;
    }
    size_t n = strcspn(slash + 1, "?");
    const char *rest = slash + 1 + n;
    if (!is_name(slash + 1, n)) {
        return false;
    }
    snprintf(c->database, sizeof c->database, "%.*s", (int)n, slash + 1);
    if (rest[0] == '\0') {
        return c->hosts == 1;
    }
    if (strncmp(rest, option, sizeof option - 1) != 0 ||
        !is_name(rest + sizeof option - 1, strlen(rest) - (sizeof option - 1))) {
        return false;
    }
    snprintf(c->cluster, sizeof c->cluster, "%s", rest + sizeof option - 1);
    return true;
}

/* What is made of reports, by ClickHouse itself: their ids, the groups, and sums by hour. `week` is that of
 * the arrival: whole weeks are removed. */
static const char *const views[] = {
    "CREATE MATERIALIZED VIEW IF NOT EXISTS #ids ENGINE = ReplacingMergeTree PARTITION BY week ORDER BY id AS"
    " SELECT id, fingerprint, session, version, week FROM #report",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS #grouped ENGINE = ReplacingMergeTree PARTITION BY week"
    " ORDER BY fingerprint AS SELECT week, fingerprint, rule, app, function, place, cause, by_owner, path, group_kind"
    " FROM #report WHERE fingerprint <> ''",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS #hour ENGINE = AggregatingMergeTree PARTITION BY week"
    " ORDER BY (app, fingerprint, hour, version, system, kind, step) AS SELECT week, app, fingerprint,"
    " toUInt32(intDiv(started_ms, 3600000)) AS hour, version, system, kind, step, countState() AS n,"
    " sumState(counted_ms) AS total, maxState(counted_ms) AS most, uniqState(who) AS users,"
    " minState(started_ms) AS first, maxState(started_ms) AS last, sumState(hang_free) AS free FROM #report"
    " GROUP BY week, app, fingerprint, hour, version, system, kind, step"};

static const char *const all_tables[] = {"report", "ids", "grouped", "hour"};

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
        " kind %s, cause %s, session String, who String, brief UInt8, started_ms Int64, duration_ms Int64,"
        " counted_ms Int64, received_ms Int64, week Date, step UInt8, hang_free UInt8, rule UInt8,"
        " function String, place String, by_owner UInt8, path String, group_kind %s, body String%s)"
        " ENGINE = ReplacingMergeTree(received_ms) PARTITION BY week ORDER BY (app, fingerprint, started_ms, id)"
        "%s",
        word, word, word, word, word, word, c->version >= CODEC_SINCE ? " CODEC(NONE)" : "",
        c->version >= FSYNC_SINCE ? " SETTINGS fsync_after_insert = 1, fsync_part_directory = 1" : "");
    return make_one(c, line, host, sql);
}

static bool make_tables_on(struct clickhouse *c, struct clickhouse_line *line, size_t host) {
    char sql[256];
    snprintf(sql, sizeof sql, "CREATE DATABASE IF NOT EXISTS %s", c->database);
    bool made = make_one(c, line, host, sql) && make_report_table(c, line, host);
    for (size_t i = 0; made && i < sizeof views / sizeof views[0]; i++) {
        made = make_one(c, line, host, views[i]);
    }
    for (size_t i = 0; made && c->cluster[0] != '\0' && i < sizeof all_tables / sizeof all_tables[0]; i++) {
        snprintf(
            sql, sizeof sql,
            "CREATE TABLE IF NOT EXISTS @%s AS #%s ENGINE = Distributed(%s, %s, %s_local, sipHash64(%s))",
            all_tables[i], all_tables[i], c->cluster, c->database, all_tables[i],
            i < 2 ? "id" : "fingerprint");
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
            continue; /* it gets them when it is back */
        }
        c->host[i].has_tables = answers && make_tables_on(c, line, i);
        if (!c->host[i].has_tables) {
            return false;
        }
    }
    return true;
}

static bool find_version(struct clickhouse *c) {
    struct clickhouse_bytes answer = {0};
    char *end = NULL;
    bool found = clickhouse_ask(c, &c->writes, "SELECT version()", NULL, &answer) && answer.data != NULL;
    if (found) {
        c->version = strtol(answer.data, &end, 10) * 1000;
        c->version += *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    }
    free(answer.data);
    return found;
}

static void clickhouse_close(void *at) {
    struct clickhouse *c = at;
    curl_easy_cleanup(c->writes.curl);
    curl_easy_cleanup(c->reads.curl);
    free(c);
}

void *clickhouse_open(const char *url, struct problem *why) {
    struct clickhouse *c = calloc(1, sizeof *c);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (c == NULL || !read_url(c, url)) {
        error_set(
            why, "cannot open the store %s: want clickhouse://HOST:PORT[,HOST:PORT...]/DATABASE?cluster=NAME",
            url);
        free(c);
        return NULL;
    }
    /* Collectors of one cluster begin at different hosts. */
    size_t host = (size_t)getpid() % c->hosts;
    if (!clickhouse_line_open(&c->writes, host) || !clickhouse_line_open(&c->reads, host) ||
        !find_version(c) || !clickhouse_make_tables(c, &c->writes)) {
        error_set(why, "cannot open the store %s: %s", url, c->writes.error);
        clickhouse_close(c);
        return NULL;
    }
    return c;
}

static const char *error_of(const void *at) {
    return ((const struct clickhouse *)at)->writes.error;
}

const struct store_backend clickhouse_backend = {
    .close = clickhouse_close,
    .add = clickhouse_add,
    .remove_old = clickhouse_remove_old,
    .error = error_of,
    .overview = clickhouse_overview,
    .group = clickhouse_group,
    .kinds = clickhouse_kinds,
    .compare = clickhouse_compare,
    .search = clickhouse_search,
    .counts = clickhouse_counts,
    .reports = clickhouse_reports,
    .report = clickhouse_report,
    .each_report = clickhouse_each_report,
    .is_in_later = clickhouse_is_in_later,
};
