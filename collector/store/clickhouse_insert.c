/* SPDX-License-Identifier: MIT
 *
 * Rows in ClickHouse's binary form, and their way into a table. Runs on the writer's thread.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/store/clickhouse_private.h"

void clickhouse_add_text(struct clickhouse_bytes *to, const char *text, size_t n) {
    unsigned char length[10];
    size_t used = 0, rest = n;
    do {
        length[used++] = (unsigned char)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        rest >>= 7;
    } while (rest > 0);
    clickhouse_bytes_add(to, length, used);
    clickhouse_bytes_add(to, text, n);
}

void clickhouse_add_number(struct clickhouse_bytes *to, int64_t number, size_t bytes) {
    unsigned char little[8];
    for (size_t i = 0; i < bytes; i++) {
        little[i] = (unsigned char)((uint64_t)number >> (8 * i));
    }
    clickhouse_bytes_add(to, little, bytes);
}

static void add_row(struct clickhouse_bytes *to, const struct clickhouse_new *new) {
    const struct row *row = new->row;
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
                                 row->own_fingerprint,
                                 g->function,
                                 g->place,
                                 g->path,
                                 row->is_hang ? "hang" : row->kind,
                                 row->label,
                                 row->origin[ORIGIN_HOST],
                                 row->origin[ORIGIN_UNIT],
                                 row->origin[ORIGIN_CONTAINER],
                                 row->origin[ORIGIN_IMAGE]};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        clickhouse_add_text(to, texts[i], strlen(texts[i]));
    }
    clickhouse_add_text(to, row->body != NULL ? (const char *)row->body : "", row->body_bytes);
    clickhouse_add_number(to, (int64_t)(new->sign > 0 ? row->unnamed_count : 0), 1);
    for (size_t i = 0; new->sign > 0 && i < row->unnamed_count; i++) {
        clickhouse_add_text(to, row->unnamed[i], strlen(row->unnamed[i]));
    }
    int64_t ms = row->is_session ? row->used_ms : row->duration_ms;
    const int64_t numbers[] = {row->started_ms,  row->duration_ms, ms,
                               new->received_ms, new->changed,     new->stand};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        clickhouse_add_number(to, numbers[i], 8);
    }
    clickhouse_add_number(to, new->week, 2);
    int step = row->duration_ms < 2 ? 0 : 63 - __builtin_clzll((unsigned long long)row->duration_ms);
    const int64_t bytes[] = {row->repeat_of[0] != '\0', step,        row->hang_free,
                             GROUPING_VERSION,          g->by_owner, new->sign};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        clickhouse_add_number(to, bytes[i], 1);
    }
}

bool clickhouse_insert_into(struct clickhouse *c, const char *table_and_columns,
                            const struct clickhouse_bytes *data) {
    struct clickhouse_bytes sql = {0}, answer = {0};
    clickhouse_sql(c, &sql, "INSERT INTO ");
    clickhouse_sql(c, &sql, table_and_columns);
    clickhouse_bytes_add(&sql, " FORMAT RowBinary", 17);
    bool done = !data->no_memory && !sql.no_memory && clickhouse_ask(c, &c->writes, sql.data, data, &answer);
    free(sql.data);
    free(answer.data);
    return done;
}

bool clickhouse_insert(struct clickhouse *c, const struct clickhouse_new *all, size_t count) {
    struct clickhouse_bytes data = {0};
    for (size_t i = 0; i < count; i++) {
        add_row(&data, &all[i]);
    }
    bool done = clickhouse_insert_into(
        c,
        "@report(id, fingerprint, app, version, system, kind, cause, session, who, own_fingerprint, function, place,"
        " path, group_kind, label, host, unit, container, image, body, unnamed, started_ms, duration_ms, counted_ms, received_ms, changed, stand, week, brief, step,"
        " hang_free, rule, by_owner, sign)",
        &data);
    free(data.data);
    return done;
}
