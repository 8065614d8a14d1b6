/* SPDX-License-Identifier: MIT
 *
 * Queries over HTTP. A line is used by one thread at a time.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/clickhouse_private.h"

#define CONNECT_MS 2000L
#define ANSWER_SECONDS 60L
#define ANSWER_BYTES_MAX ((size_t)256 << 20)

void clickhouse_bytes_add(struct clickhouse_bytes *b, const void *data, size_t bytes) {
    if (b->data == NULL || b->used + bytes + 1 > b->size) {
        size_t size = (b->used + bytes + 1) * 2;
        char *grown = size <= ANSWER_BYTES_MAX ? realloc(b->data, size) : NULL;
        if (grown == NULL) {
            b->no_memory = true;
            return;
        }
        b->data = grown;
        b->size = size;
    }
    memcpy(b->data + b->used, data, bytes);
    b->used += bytes;
    b->data[b->used] = '\0';
}

static void add_quoted(struct clickhouse_bytes *to, const char *text) {
    clickhouse_bytes_add(to, "'", 1);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            clickhouse_bytes_add(to, "\\", 1);
        }
        clickhouse_bytes_add(to, text, 1);
    }
    clickhouse_bytes_add(to, "'", 1);
}

static void add_list(struct clickhouse_bytes *to, const json_t *texts) {
    const json_t *text;
    size_t i;
    clickhouse_bytes_add(to, "(''", 3);
    json_array_foreach(texts, i, text) {
        clickhouse_bytes_add(to, ", ", 2);
        add_quoted(to, json_string_value(text));
    }
    clickhouse_bytes_add(to, ")", 1);
}

static void add_pairs(struct clickhouse_bytes *to, const json_t *groups) {
    const json_t *group;
    size_t i;
    /* A list of one pair would be a list of two texts. */
    clickhouse_bytes_add(to, "(('', ''), ('', '')", 19);
    json_array_foreach(groups, i, group) {
        clickhouse_bytes_add(to, ", (", 3);
        add_quoted(to, json_string_value(json_object_get(group, "app")));
        clickhouse_bytes_add(to, ", ", 2);
        add_quoted(to, json_string_value(json_object_get(group, "fingerprint")));
        clickhouse_bytes_add(to, ")", 1);
    }
    clickhouse_bytes_add(to, ")", 1);
}

static void add_app(struct clickhouse_bytes *to, const char *app) {
    if (app[0] != '\0') {
        clickhouse_bytes_add(to, " AND app = ", 11);
        add_quoted(to, app);
    }
}

/* The suffix comes behind the table's name: where there is no cluster, the local tables have all rows. */
static const char *add_table(const struct clickhouse *c, struct clickhouse_bytes *to, const char *at) {
    bool local = *at++ == '#' || c->cluster[0] == '\0';
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
    clickhouse_bytes_add(to, c->database, strlen(c->database));
    clickhouse_bytes_add(to, ".", 1);
    clickhouse_bytes_add(to, at, n);
    clickhouse_bytes_add(to, "_local", local ? 6 : 0);
    return at + n;
}

/* A list of values is given on by its address where a function takes from it. */
struct values {
    va_list list;
};

static void add_value(const struct clickhouse *c, struct clickhouse_bytes *to, char type,
                      struct values *values) {
    char number[24];
    if (type == 'i') {
        int n = snprintf(number, sizeof number, "%" PRId64, va_arg(values->list, int64_t));
        clickhouse_bytes_add(to, number, (size_t)n);
    } else if (type == 'l') {
        add_list(to, va_arg(values->list, const json_t *));
    } else if (type == 'p') {
        add_pairs(to, va_arg(values->list, const json_t *));
    } else if (type == 'a') {
        add_app(to, va_arg(values->list, const char *));
    } else if (type == 'n') {
        const char *part = va_arg(values->list, const char *);
        if (part[0] == '@') {
            add_table(c, to, part);
        } else {
            clickhouse_bytes_add(to, part, strlen(part));
        }
    } else {
        add_quoted(to, va_arg(values->list, const char *));
    }
}

void clickhouse_sql_list(const struct clickhouse *c, struct clickhouse_bytes *to, const char *format,
                         va_list values) {
    struct values rest;
    va_copy(rest.list, values);
    for (const char *at = format; *at != '\0';) {
        if (at[0] == '?' && at[1] != '\0' && strchr("silpan", at[1]) != NULL) {
            add_value(c, to, at[1], &rest);
            at += 2;
        } else if (at[0] == '@' || at[0] == '#') {
            at = add_table(c, to, at);
        } else {
            clickhouse_bytes_add(to, at++, 1);
        }
    }
    va_end(rest.list);
}

void clickhouse_sql(const struct clickhouse *c, struct clickhouse_bytes *to, const char *format, ...) {
    va_list values;
    va_start(values, format);
    clickhouse_sql_list(c, to, format, values);
    va_end(values);
}

static size_t take(char *data, size_t size, size_t count, void *to) {
    struct clickhouse_bytes *answer = to;
    clickhouse_bytes_add(answer, data, size * count);
    return answer->no_memory ? 0 : size * count;
}

/* Without data the query itself is the body, since it may be longer than an address. */
static char *address_of(const struct clickhouse *c, CURL *curl, size_t host, const char *sql, bool has_data) {
    static const char options[] = "output_format_json_quote_64bit_integers=0&insert_distributed_sync=1"
                                  "&allow_experimental_low_cardinality_type=1";
    char *escaped = has_data ? curl_easy_escape(curl, sql, 0) : NULL, *url = NULL;
    /* Later versions took that option away, and refuse what they do not know. */
    size_t n = c->version > 0 && c->version < 20000 ? strlen(options)
                                                    : (size_t)(strstr(options, "&allow") - options);
    if (asprintf(&url, "http://%s/?%.*s%s%s", c->host[host].address, (int)n, options,
                 escaped != NULL ? "&query=" : "", escaped != NULL ? escaped : "") < 0) {
        url = NULL;
    }
    curl_free(escaped);
    return url;
}

bool clickhouse_ask_host(struct clickhouse *c, struct clickhouse_line *line, size_t host, const char *sql,
                         const struct clickhouse_bytes *data, struct clickhouse_bytes *answer,
                         bool *is_down) {
    long status = 0;
    char *url = address_of(c, line->curl, host, sql, data != NULL);
    answer->used = 0;
    *is_down = false;
    if (url == NULL) {
        snprintf(line->error, sizeof line->error, "out of memory");
        return false;
    }
    curl_easy_setopt(line->curl, CURLOPT_URL, url);
    curl_easy_setopt(line->curl, CURLOPT_POSTFIELDS, data != NULL ? data->data : sql);
    curl_easy_setopt(line->curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     (curl_off_t)(data != NULL ? data->used : strlen(sql)));
    curl_easy_setopt(line->curl, CURLOPT_WRITEDATA, answer);
    CURLcode code = curl_easy_perform(line->curl);
    free(url);
    curl_easy_getinfo(line->curl, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK) {
        *is_down = status == 0;
        snprintf(line->error, sizeof line->error, "%s: %s", c->host[host].address, curl_easy_strerror(code));
        return false;
    }
    if (status != 200) {
        snprintf(line->error, sizeof line->error, "%s: %.200s", c->host[host].address,
                 answer->data != NULL ? answer->data : "");
        return false;
    }
    return true;
}

bool clickhouse_ask(struct clickhouse *c, struct clickhouse_line *line, const char *sql,
                    const struct clickhouse_bytes *data, struct clickhouse_bytes *answer) {
    for (size_t i = 0; i < c->hosts; i++) {
        size_t host = (line->host + i) % c->hosts;
        bool is_down;
        if (clickhouse_ask_host(c, line, host, sql, data, answer, &is_down)) {
            line->host = host;
            return true;
        }
        if (!is_down) {
            return false;
        }
    }
    return false;
}

bool clickhouse_line_open(struct clickhouse_line *line, size_t host) {
    line->host = host;
    line->curl = curl_easy_init();
    pthread_mutex_init(&line->lock, NULL);
    if (line->curl == NULL) {
        return false;
    }
    static char no_wait[] = "Expect:"; /* before the body */
    static struct curl_slist none = {.data = no_wait};
    curl_easy_setopt(line->curl, CURLOPT_HTTPHEADER, &none);
    curl_easy_setopt(line->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(line->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(line->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(line->curl, CURLOPT_TIMEOUT, ANSWER_SECONDS);
    curl_easy_setopt(line->curl, CURLOPT_WRITEFUNCTION, take);
    return true;
}

json_t *clickhouse_rows(struct clickhouse *c, struct clickhouse_line *line, const char *format, ...) {
    struct clickhouse_bytes sql = {0}, answer = {0};
    va_list values;
    va_start(values, format);
    clickhouse_sql_list(c, &sql, format, values);
    va_end(values);
    clickhouse_bytes_add(&sql, " FORMAT JSON", 12);
    json_t *rows = NULL;
    if (!sql.no_memory && clickhouse_ask(c, line, sql.data, NULL, &answer)) {
        json_t *whole = json_loadb(answer.data, answer.used, 0, NULL);
        rows = json_incref(json_object_get(whole, "data"));
        json_decref(whole);
    }
    if (rows == NULL) {
        print_error("cannot read from ClickHouse: %s", line->error);
    }
    free(sql.data);
    free(answer.data);
    return rows;
}

json_t *clickhouse_first(json_t *rows) {
    json_t *row = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    return row;
}
