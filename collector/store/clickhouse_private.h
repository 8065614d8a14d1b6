/* SPDX-License-Identifier: MIT
 *
 * What the parts of the ClickHouse store share.
 */
#ifndef COLLECTOR_STORE_CLICKHOUSE_PRIVATE_H
#define COLLECTOR_STORE_CLICKHOUSE_PRIVATE_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "collector/store/clickhouse.h"

#define CLICKHOUSE_HOSTS_MAX 64

struct clickhouse_host {
    char address[128]; /* "127.0.0.1:8123" */
    bool has_tables;
};

/* A connection, for one thread at a time. */
struct clickhouse_line {
    CURL *curl;
    pthread_mutex_t lock;
    size_t host; /* that answered last */
    char error[256];
};

struct clickhouse {
    struct clickhouse_host host[CLICKHOUSE_HOSTS_MAX];
    size_t hosts;
    char database[64], cluster[64]; /* "": one server */
    long version;                   /* 18016 of 18.16 */
    struct clickhouse_line writes, reads;
};

/* The bytes of an answer, or of something that grows; `data` ends with a zero. */
struct clickhouse_bytes {
    char *data;
    size_t used, size;
    bool no_memory;
};
void clickhouse_bytes_add(struct clickhouse_bytes *b, const void *data, size_t bytes);

/* A query's text: ?s is a text (const char *) in quotes, ?i a number (int64_t), @name the table that has all
 * shards' rows, #name the table of the host alone. */
void clickhouse_sql(const struct clickhouse *c, struct clickhouse_bytes *to, const char *format, ...);
void clickhouse_sql_list(const struct clickhouse *c, struct clickhouse_bytes *to, const char *format,
                         va_list values);

/* False: no memory. `host`: the first to be asked. */
bool clickhouse_line_open(struct clickhouse_line *line, size_t host);

/* Sends the query with its data to one host. Its answer goes to `answer`; false: the line's error says why.
 * `is_down`: the host did not answer at all. */
bool clickhouse_ask_host(struct clickhouse *c, struct clickhouse_line *line, size_t host, const char *sql,
                         const struct clickhouse_bytes *data, struct clickhouse_bytes *answer, bool *is_down);
/* The same with the first host that answers. */
bool clickhouse_ask(struct clickhouse *c, struct clickhouse_line *line, const char *sql,
                    const struct clickhouse_bytes *data, struct clickhouse_bytes *answer);

/* Makes the tables on each host that can be reached and has none. False: one refused. */
bool clickhouse_make_tables(struct clickhouse *c, struct clickhouse_line *line);

/* The rows of a query, as objects; NULL: it failed. The caller has the line's lock. */
json_t *clickhouse_rows(struct clickhouse *c, struct clickhouse_line *line, const char *format, ...);

enum store_result clickhouse_add(void *at, struct row *const *rows, size_t count);
long clickhouse_remove_old(void *at, int64_t before_ms, long max);

json_t *clickhouse_overview(void *at, const char *app, int days);
json_t *clickhouse_group(void *at, const char *fingerprint);
json_t *clickhouse_kinds(void *at, const char *app, int days);
json_t *clickhouse_compare(void *at, const char *app, const char *from, const char *to);
json_t *clickhouse_search(void *at, const char *words, const char *app, long offset);
json_t *clickhouse_counts(void *at);
json_t *clickhouse_reports(void *at, const struct store_filter *filter);
char *clickhouse_report(void *at, const char *id, size_t *bytes);
void clickhouse_each_report(void *at, const struct store_filter *filter,
                            void (*take)(void *to, const char *text, size_t bytes), void *to);
bool clickhouse_is_in_later(void *at, const char *fingerprint, const struct store_issue *issue);

#endif
