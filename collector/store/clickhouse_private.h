/* SPDX-License-Identifier: MIT
 *
 * Types and functions that the parts of the ClickHouse store share.
 */
#ifndef COLLECTOR_STORE_CLICKHOUSE_PRIVATE_H
#define COLLECTOR_STORE_CLICKHOUSE_PRIVATE_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "collector/store/clickhouse.h"

#define CLICKHOUSE_HOSTS_MAX 64

/* The kinds of reports whose duration counts as time hung. */
#define CLICKHOUSE_HANGS "kind IN ('hang', 'launch', 'background-hang', 'fatal-hang')"

/* The values of a group that a page shows, from the table `grouped`. */
#define CLICKHOUSE_SHOWN                                                                                             \
    "argMaxMerge(shown_function) AS function, argMaxMerge(shown_place) AS place, argMinMerge(first_cause) AS cause," \
    " argMinMerge(first_owner) AS by_owner, argMinMerge(first_kind) AS kind, uniqMerge(users) AS users,"             \
    " maxMerge(most) AS max_ms, minMerge(first) AS first_ms, maxMerge(last) AS last_ms, uniqMerge(versions) AS versions"

/* A report that takes another's place is newer by `changed`; a later epoch of ways is more than any time. */
#define CLICKHOUSE_EPOCH "4503599627370496"

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

/* How far a regrouping has come, and which groups its last batch moved reports between. */
#define CLICKHOUSE_MOVES_MAX 256
struct clickhouse_move {
    char from[GROUPING_HEX + 1], to[GROUPING_HEX + 1];
};
struct clickhouse_place {
    bool runs, in_group;
    int pass;
    char app[128], fingerprint[GROUPING_HEX + 1];
    int64_t after_ms; /* the reports of the group that began later are still to come */
    struct clickhouse_move move[CLICKHOUSE_MOVES_MAX];
    size_t moves;
};

/* Of the thread that names reports. */
#define CLICKHOUSE_ENDS_MAX 64
struct clickhouse_waits {
    char build_id[UNNAMED_ID_BYTES], after[ROW_ID_CHARS + 1];
    char end[CLICKHOUSE_ENDS_MAX][ROW_ID_CHARS + 1]; /* wait no more; ClickHouse does not know it yet */
    size_t ends;
};

struct clickhouse {
    struct clickhouse_host host[CLICKHOUSE_HOSTS_MAX];
    size_t hosts;
    char database[64], cluster[64]; /* "": one server */
    long version;                   /* 18016 of 18.16 */
    struct clickhouse_line writes, reads;
    struct clickhouse_place place;
    struct clickhouse_waits waits;
    int64_t last_changed;       /* the writer's */
    int64_t epoch, least_epoch; /* of the ways: the newest, and that of the regrouping that runs */
};

/* A report on its way into the table. */
struct clickhouse_new {
    struct row *row;
    int64_t changed; /* microseconds: a number that no other row of this collector has */
    int64_t stand;   /* the group is shown by its report with the most */
    int64_t received_ms, week;
    int sign; /* -1: it leaves its group */
    bool looks_for_group;
    const char *leaves; /* the group that has one report less, or NULL */
};

/* A report that leaves its group and comes to another. */
struct clickhouse_moving {
    struct row old;
    struct clickhouse_new out, in;
    bool is_left; /* an earlier, interrupted move has already subtracted the report */
};

/* The members of a row that clickhouse_moving_make takes, of the table `report`. */
#define CLICKHOUSE_COUNTED                                                                                                                       \
    "id, fingerprint, app, version, system, kind, cause, session, who, own_fingerprint, label, host, unit, container, image, brief, started_ms," \
    " duration_ms, counted_ms, received_ms, hang_free, sign AS newest_sign, toUInt16(week) AS week_number"

/* The bytes of an answer, or of something that grows; `data` ends with a zero. */
struct clickhouse_bytes {
    char *data;
    size_t used, size;
    bool no_memory;
};
void clickhouse_bytes_add(struct clickhouse_bytes *b, const void *data, size_t bytes);

/* Writes a query. In the format, @name is the table with the rows of all shards, and #name the table of one
 * host.
 *
 * A text in quotes is ?s (const char *), a number ?i (int64_t).
 *
 * A list of texts is ?l (json_t *), a list of groups with app and fingerprint ?p (json_t *).
 *
 * A part of a query is ?n (const char *). A condition for an app is ?a (const char *); empty: for all apps.
 */
void clickhouse_sql(const struct clickhouse *c, struct clickhouse_bytes *to, const char *format, ...);
void clickhouse_sql_list(const struct clickhouse *c, struct clickhouse_bytes *to, const char *format,
                         va_list values);

/* False: no memory. `host`: the first host to query. */
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

/* The same of the first row, NULL: there is none. */
json_t *clickhouse_first(json_t *rows);

/* The i-th table from which retention drops weeks; NULL: there are no more. */
const char *clickhouse_table_of_weeks(size_t i);

/* ---- of the writing line; the caller has its lock ---- */
/* The time in microseconds, or a little more: each call has a larger one. */
int64_t clickhouse_changed(struct clickhouse *c);
/* The day on which the week began that a moment is in. */
int64_t clickhouse_week(int64_t seconds);
/* How much a report has to show its group by, that came when there was none. */
int64_t clickhouse_stand_first(const struct row *row, int64_t changed);
/* Sets the group of a brief repeat to that of the report before it. False: not a brief repeat, or no such
 * report. */
bool clickhouse_group_as_repeated(struct clickhouse *c, struct row *row);
/* The move of a stored report (CLICKHOUSE_COUNTED) that becomes `row`, which gets what it was counted under.
 */
void clickhouse_moving_make(struct clickhouse *c, struct clickhouse_moving *m, const json_t *from,
                            struct row *row);
/* Sends the moves in one block. */
bool clickhouse_move(struct clickhouse *c, const struct clickhouse_moving *all, size_t count);
/* Sends rows to the table in one block. */
bool clickhouse_insert(struct clickhouse *c, const struct clickhouse_new *all, size_t count);
/* Inserts what is in RowBinary. */
bool clickhouse_insert_into(struct clickhouse *c, const char *table_and_columns,
                            const struct clickhouse_bytes *data);
void clickhouse_add_text(struct clickhouse_bytes *to, const char *text, size_t bytes);
void clickhouse_add_number(struct clickhouse_bytes *to, int64_t number, size_t bytes);
/* Sets the fingerprint of each row that looks for its group: it has the same bug's reports of other builds,
 * else its own. */
bool clickhouse_find_groups(struct clickhouse *c, struct clickhouse_new *all, size_t count);

enum store_result clickhouse_add(void *at, struct row *const *rows, size_t count);
enum store_result clickhouse_replace(void *at, struct row *row);
long clickhouse_regroup(void *at, const json_t *schema, long max);
bool clickhouse_next_move(void *at, char from[GROUPING_HEX + 1], char to[GROUPING_HEX + 1]);
int clickhouse_unnamed(void *at, const char *build_id, char (*ids)[ROW_ID_CHARS + 1], int max);
bool clickhouse_end_unnamed(void *at, const char *build_id, const char *id);
long clickhouse_remove_old(void *at, int64_t before_ms, long max);

/* ---- of the reading line; the caller has its lock ---- */
json_t *clickhouse_newest_of_group(struct clickhouse *c, const char *app, const char *fingerprint);
/* The JSON text of a row's `body`; the caller frees it. */
char *clickhouse_text_of(const json_t *row, size_t *bytes);

json_t *clickhouse_apps(struct clickhouse *c);
/* Adds host, unit and container to reports of tables that lack these columns. */
void clickhouse_add_places(struct clickhouse *c, json_t *reports);
/* As the functions of sqlite_origins.c. */
void clickhouse_add_origins(struct clickhouse *c, json_t *group);
void clickhouse_add_origin_counts(struct clickhouse *c, const char *app, int days, json_t *page);
/* The member `hosts` of each of the groups. */
void clickhouse_count_hosts(struct clickhouse *c, json_t *groups);
/* The groups, each with what it is shown by. One that is not there goes. */
json_t *clickhouse_with_shown(struct clickhouse *c, json_t *groups);
/* The members `groups`, `days` and `totals`; false: it failed. */
bool clickhouse_add_groups(struct clickhouse *c, const struct store_group_filter *filter, json_t *to);
json_t *clickhouse_overview(void *at, const struct store_group_filter *filter);
json_t *clickhouse_groups(void *at, const struct store_group_filter *filter);
json_t *clickhouse_versions(void *at, const char *app);
json_t *clickhouse_origins(void *at, const struct store_origin_filter *filter);
json_t *clickhouse_group(void *at, const char *fingerprint);
json_t *clickhouse_kinds(void *at, const char *app, int days);
json_t *clickhouse_compare(void *at, const char *app, const char *from, const char *to);
json_t *clickhouse_search(void *at, const char *words, const char *app, long offset);
json_t *clickhouse_counts(void *at);
json_t *clickhouse_reports(void *at, const struct store_filter *filter);
void *clickhouse_report_body(void *at, const char *id, size_t *bytes);
void clickhouse_each_report(void *at, const struct store_filter *filter,
                            void (*take)(void *to, const char *text, size_t bytes), void *to);
void clickhouse_each_of_groups(void *at, const struct store_groups *of,
                               void (*take)(void *to, size_t group, const char *text, size_t bytes),
                               void *to);
void clickhouse_find_regressed(void *at, struct store_mark *marks, size_t count);

#endif
