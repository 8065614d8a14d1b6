/* SPDX-License-Identifier: MIT
 *
 * Reports go to ClickHouse in one block. Those that it has already are found before: so a block that some
 * shards took and others did not is sent again without harm. Runs on the writer's thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/clickhouse_private.h"

#define DAY_SECONDS 86400
#define WEEK_DAYS 7
#define THURSDAY 3 /* 1970-01-01, counted from Monday */

static void add_text(struct clickhouse_bytes *to, const char *text, size_t n) {
    unsigned char length[10];
    size_t used = 0, rest = n;
    do {
        length[used++] = (unsigned char)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        rest >>= 7;
    } while (rest > 0);
    clickhouse_bytes_add(to, length, used);
    clickhouse_bytes_add(to, text, n);
}

static void add_number(struct clickhouse_bytes *to, int64_t number, size_t bytes) {
    unsigned char little[8];
    for (size_t i = 0; i < bytes; i++) {
        little[i] = (unsigned char)((uint64_t)number >> (8 * i));
    }
    clickhouse_bytes_add(to, little, bytes);
}

static const char columns[] =
    "id, fingerprint, app, version, system, kind, cause, session, who, function, place, path, group_kind, body, started_ms,"
    " duration_ms, counted_ms, received_ms, week, brief, step, hang_free, rule, by_owner";

static void add_row(struct clickhouse_bytes *to, const struct row *row, int64_t now_s) {
    const struct grouping *g = &row->group;
    const char *const texts[] = {row->id,
                                 row->grouped ? g->fingerprint : "",
                                 row->app,
                                 row->version,
                                 row->system,
                                 row->kind,
                                 row->cause[0] != '\0' ? row->cause : "unknown",
                                 row->session,
                                 row->who,
                                 g->function,
                                 g->place,
                                 g->path,
                                 row->is_hang ? "hang" : row->kind};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        add_text(to, texts[i], strlen(texts[i]));
    }
    add_text(to, (const char *)row->body, row->body_bytes);
    int64_t day = now_s / DAY_SECONDS, ms = row->is_session ? row->used_ms : row->duration_ms;
    const int64_t numbers[] = {row->started_ms, row->duration_ms, ms, now_s * 1000};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        add_number(to, numbers[i], 8);
    }
    add_number(to, day - (day + THURSDAY) % WEEK_DAYS, 2);
    int step = row->duration_ms < 2 ? 0 : 63 - __builtin_clzll((unsigned long long)row->duration_ms);
    const int64_t bytes[] = {row->repeat_of[0] != '\0', step, row->hang_free, GROUPING_VERSION, g->by_owner};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        add_number(to, bytes[i], 1);
    }
}

static void add_id(const struct clickhouse *c, struct clickhouse_bytes *sql, const char *id) {
    clickhouse_sql(c, sql, sql->data[sql->used - 1] == '(' ? "?s" : ", ?s", id);
}

/* What ClickHouse has of these ids, and of those that they repeat: id -> row. NULL: it cannot be asked. */
static json_t *find_known(struct clickhouse *c, struct row *const *rows, size_t count) {
    struct clickhouse_bytes sql = {0};
    clickhouse_sql(c, &sql, "SELECT DISTINCT id, fingerprint, session FROM @ids WHERE id IN (");
    for (size_t i = 0; i < count && !sql.no_memory; i++) {
        add_id(c, &sql, rows[i]->id);
        if (rows[i]->repeat_of[0] != '\0') {
            add_id(c, &sql, rows[i]->repeat_of);
        }
    }
    clickhouse_sql(c, &sql, ")");
    /* All is in the text by now; a question mark in it is no value to come. */
    struct clickhouse_bytes answer = {0};
    clickhouse_bytes_add(&sql, " FORMAT JSON", 12);
    json_t *known = NULL, *row;
    size_t i;
    if (!sql.no_memory && clickhouse_ask(c, &c->writes, sql.data, NULL, &answer)) {
        json_t *whole = json_loadb(answer.data, answer.used, 0, NULL);
        known = json_object();
        json_array_foreach(json_object_get(whole, "data"), i, row) {
            json_object_set(known, json_string_value(json_object_get(row, "id")), row);
        }
        json_decref(whole);
    }
    free(sql.data);
    free(answer.data);
    return known;
}

/* A brief repeat has no threads: its group is that of the whole report before it. */
static void group_as_repeated(struct row *row, const json_t *known) {
    const json_t *before = json_object_get(known, row->repeat_of);
    const char *session = json_string_value(json_object_get(before, "session"));
    const char *fingerprint = json_string_value(json_object_get(before, "fingerprint"));
    if (session != NULL && fingerprint != NULL && fingerprint[0] != '\0' &&
        strcmp(session, row->session) == 0) {
        snprintf(row->group.fingerprint, sizeof row->group.fingerprint, "%s", fingerprint);
    }
}

static void pack_rows(struct clickhouse_bytes *to, struct row *const *rows, size_t count, json_t *known) {
    int64_t now_s = (int64_t)time(NULL);
    for (size_t i = 0; i < count; i++) {
        struct row *row = rows[i];
        row->outcome = json_object_get(known, row->id) != NULL ? ROW_REPEATED : ROW_STORED;
        if (row->outcome == ROW_REPEATED) {
            continue;
        }
        if (row->grouped && row->repeat_of[0] != '\0') {
            group_as_repeated(row, known);
        }
        add_row(to, row, now_s);
        json_object_set_new(known, row->id,
                            json_pack("{s:s, s:s}", "session", row->session, "fingerprint",
                                      row->grouped ? row->group.fingerprint : ""));
    }
}

enum store_result clickhouse_add(void *at, struct row *const *rows, size_t count) {
    struct clickhouse *c = at;
    struct clickhouse_bytes data = {0}, sql = {0}, answer = {0};
    pthread_mutex_lock(&c->writes.lock);
    json_t *known = clickhouse_make_tables(c, &c->writes) ? find_known(c, rows, count) : NULL;
    bool added = known != NULL;
    if (added) {
        pack_rows(&data, rows, count, known);
        clickhouse_sql(c, &sql, "INSERT INTO @report(");
        clickhouse_bytes_add(&sql, columns, sizeof columns - 1);
        clickhouse_bytes_add(&sql, ") FORMAT RowBinary", 18);
        added = !data.no_memory && !sql.no_memory &&
                (data.used == 0 || clickhouse_ask(c, &c->writes, sql.data, &data, &answer));
    }
    for (size_t i = 0; !added && i < count; i++) {
        rows[i]->outcome = ROW_PENDING;
    }
    json_decref(known);
    free(data.data);
    free(sql.data);
    free(answer.data);
    pthread_mutex_unlock(&c->writes.lock);
    return added ? STORE_DONE : STORE_FAILED;
}

/* Whole weeks of arrival, as partitions: each table of each host loses them. */
long clickhouse_remove_old(void *at, int64_t before_ms, long max) {
    static const char *const tables[] = {"report", "ids", "grouped", "hour"};
    struct clickhouse *c = at;
    bool done = true, is_down;
    char sql[512], empty[1] = "";
    (void)max;
    pthread_mutex_lock(&c->writes.lock);
    for (size_t i = 0; done && i < 4 * c->hosts; i++) {
        const char *table = tables[i % 4], *inner = i % 4 == 0 ? "" : ".inner.";
        struct clickhouse_bytes answer = {0};
        snprintf(
            sql, sizeof sql,
            "SELECT DISTINCT partition FROM system.parts WHERE active AND database = '%s' AND table ="
            " '%s%s_local' AND toDate(replaceAll(partition, '\\'', '')) < toDate(%lld) - 6 FORMAT TabSeparatedRaw",
            c->database, inner, table, (long long)(before_ms / 1000));
        done = clickhouse_ask_host(c, &c->writes, i / 4, sql, NULL, &answer, &is_down);
        char *rest = NULL;
        for (char *week = done ? strtok_r(answer.data != NULL ? answer.data : empty, "\n", &rest) : NULL;
             week != NULL; week = strtok_r(NULL, "\n", &rest)) {
            struct clickhouse_bytes none = {0};
            snprintf(sql, sizeof sql, "ALTER TABLE %s.`%s%s_local` DROP PARTITION '%.10s'", c->database,
                     inner, table, week + (week[0] == '\''));
            done = clickhouse_ask_host(c, &c->writes, i / 4, sql, NULL, &none, &is_down) && done;
            free(none.data);
        }
        free(answer.data);
    }
    pthread_mutex_unlock(&c->writes.lock);
    return done ? 0 : -1;
}
