/* SPDX-License-Identifier: MIT
 *
 * Queries of reports: lists, search, and their texts. Any thread; one at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/store/clickhouse_private.h"

#define ROWS(...) clickhouse_rows(c, &c->reads, __VA_ARGS__)
#define REPORT_MEMBERS                                                                                             \
    "id, any(kind) AS kind, any(cause) AS cause, any(app) AS app, any(version) AS version, any(system) AS system," \
    " any(started_ms) AS started_ms, any(duration_ms) AS duration_ms, any(brief) AS brief, any(fingerprint) AS"    \
    " fingerprint"
#define FOUND_MAX 50
#define ID_PREFIX_MIN 4

static const char *text_or_none(const char *text) {
    return text != NULL ? text : "";
}

json_t *clickhouse_reports(void *at, const struct store_filter *f) {
    struct clickhouse *c = at;
    const char *group = text_or_none(f->fingerprint), *version = text_or_none(f->version),
               *kind = text_or_none(f->kind), *app = text_or_none(f->app);
    pthread_mutex_lock(&c->reads.lock);
    json_t *reports = ROWS(
        "SELECT * FROM (SELECT " REPORT_MEMBERS " FROM (SELECT * FROM @report WHERE"
        " if(?s <> '', fingerprint = ?s AND (?s = '' OR version = ?s), kind = ?s AND (?s = '' OR app = ?s)))"
        " GROUP BY id) ORDER BY started_ms DESC LIMIT ?i, ?i",
        group, group, version, version, kind, app, app, (int64_t)f->offset, (int64_t)f->limit);
    pthread_mutex_unlock(&c->reads.lock);
    return reports != NULL ? json_pack("{s:o}", "reports", reports) : NULL;
}

json_t *clickhouse_search(void *at, const char *words, const char *app, long offset) {
    struct clickhouse *c = at;
    bool is_id = strlen(words) >= ID_PREFIX_MIN && strspn(words, "0123456789abcdef-") == strlen(words);
    pthread_mutex_lock(&c->reads.lock);
    json_t *groups = ROWS(
        "SELECT fingerprint, app, function, place, cause, by_owner, users, max_ms, first_ms, last_ms, count, total_ms,"
        " kind, versions FROM (SELECT fingerprint, any(app) AS app, any(function) AS function, any(place) AS place,"
        " any(cause) AS cause, any(by_owner) AS by_owner, any(group_kind) AS kind FROM (SELECT * FROM @grouped WHERE (?s = '' OR app = ?s) AND"
        " (positionCaseInsensitiveUTF8(function, ?s) > 0 OR positionCaseInsensitiveUTF8(place, ?s) > 0 OR"
        " positionCaseInsensitiveUTF8(path, ?s) > 0 OR fingerprint = ?s)) GROUP BY fingerprint) ANY INNER JOIN"
        " (SELECT fingerprint, uniqMerge(users) AS users, maxMerge(most) AS max_ms, minMerge(first) AS first_ms,"
        " maxMerge(last) AS last_ms, countMerge(n) AS count, sumMerge(total) AS total_ms, uniqExact(version) AS versions"
        " FROM @hour GROUP BY fingerprint) USING fingerprint ORDER BY total_ms DESC LIMIT ?i, ?i",
        app, app, words, words, words, words, (int64_t)offset, (int64_t)FOUND_MAX);
    json_t *reports =
        is_id ? ROWS("SELECT * FROM (SELECT " REPORT_MEMBERS " FROM (SELECT * FROM @report WHERE"
                     " startsWith(id, ?s) AND (?s = '' OR app = ?s)) GROUP BY id) ORDER BY id LIMIT ?i",
                     words, app, app, (int64_t)FOUND_MAX)
              : json_array();
    pthread_mutex_unlock(&c->reads.lock);
    return groups != NULL && reports != NULL ? json_pack("{s:o, s:o}", "groups", groups, "reports", reports)
                                             : NULL;
}

static unsigned digit(char c) {
    return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* A body comes as digits: it is no text. The caller frees what it gets; NULL: it is no report. */
static char *text_of(const json_t *row, size_t *bytes) {
    const char *hex = json_string_value(json_object_get(row, "body"));
    size_t n = hex != NULL ? strlen(hex) / 2 : 0;
    unsigned char *body = n > 0 ? malloc(n) : NULL;
    for (size_t i = 0; body != NULL && i < n; i++) {
        body[i] = (unsigned char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    }
    char *text = body != NULL ? row_text(body, n, bytes) : NULL;
    free(body);
    return text;
}

char *clickhouse_report(void *at, const char *id, size_t *bytes) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->reads.lock);
    json_t *rows = ROWS("SELECT hex(body) AS body FROM @report WHERE id = ?s LIMIT 1", id);
    pthread_mutex_unlock(&c->reads.lock);
    char *text = text_of(json_array_get(rows, 0), bytes);
    json_decref(rows);
    return text;
}

void clickhouse_each_report(void *at, const struct store_filter *f,
                            void (*take)(void *to, const char *text, size_t bytes), void *to) {
    struct clickhouse *c = at;
    const char *version = text_or_none(f->version);
    size_t i;
    json_t *row;
    pthread_mutex_lock(&c->reads.lock);
    json_t *rows = ROWS(
        "SELECT id, hex(any(body)) AS body, any(started_ms) AS started FROM @report WHERE fingerprint = ?s AND"
        " (?s = '' OR version = ?s) AND brief = 0 GROUP BY id ORDER BY started DESC LIMIT ?i",
        text_or_none(f->fingerprint), version, version, (int64_t)f->limit);
    pthread_mutex_unlock(&c->reads.lock);
    json_array_foreach(rows, i, row) {
        size_t bytes = 0;
        char *text = text_of(row, &bytes);
        if (text != NULL) {
            take(to, text, bytes);
        }
        free(text);
    }
    json_decref(rows);
}
