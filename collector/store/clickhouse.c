/* SPDX-License-Identifier: MIT */
#include "collector/store/clickhouse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/store/clickhouse_private.h"

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

/* Of the ways; the collectors of a cluster share them. */
static bool find_epoch(struct clickhouse *c) {
    json_t *row = clickhouse_first(clickhouse_rows(c, &c->writes, "SELECT max(epoch) AS epoch FROM @way"));
    c->epoch = json_integer_value(json_object_get(row, "epoch"));
    json_decref(row);
    return row != NULL;
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
        !find_version(c) || !clickhouse_make_tables(c, &c->writes) || !find_epoch(c)) {
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
    .regroup = clickhouse_regroup,
    .next_move = clickhouse_next_move,
    .replace = clickhouse_replace,
    .unnamed = clickhouse_unnamed,
    .end_unnamed = clickhouse_end_unnamed,
    .error = error_of,
    .overview = clickhouse_overview,
    .groups = clickhouse_groups,
    .versions = clickhouse_versions,
    .origins = clickhouse_origins,
    .group = clickhouse_group,
    .kinds = clickhouse_kinds,
    .compare = clickhouse_compare,
    .search = clickhouse_search,
    .counts = clickhouse_counts,
    .reports = clickhouse_reports,
    .report_body = clickhouse_report_body,
    .each_report = clickhouse_each_report,
    .each_of_groups = clickhouse_each_of_groups,
    .find_regressed = clickhouse_find_regressed,
};
