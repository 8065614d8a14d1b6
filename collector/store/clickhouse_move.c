/* SPDX-License-Identifier: MIT
 * Moves a report to another text or another group, by two rows in one block. One row subtracts the report
 * from the sums of its old group, the other adds it to the sums of the new group. Any thread, between two
 * blocks of the writer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/clickhouse_private.h"

static void take_text(char *to, size_t size, const json_t *from, const char *member) {
    const char *text = json_string_value(json_object_get(from, member));
    snprintf(to, size, "%s", text != NULL ? text : "");
}
#define TAKE(row, member) take_text((row)->member, sizeof(row)->member, from, #member)

static int64_t number_of(const json_t *from, const char *member) {
    return json_integer_value(json_object_get(from, member));
}

/* Takes the values under which the report was counted; they stay. */
static void take_counted(struct row *row, const json_t *from) {
    TAKE(row, app);
    TAKE(row, version);
    TAKE(row, system);
    TAKE(row, kind);
    TAKE(row, cause);
    TAKE(row, session);
    TAKE(row, who);
    TAKE(row, own_fingerprint);
    TAKE(row, label);
    for (int i = 0; i < ORIGINS; i++) {
        take_text(row->origin[i], ROW_ORIGIN_BYTES, from, row_origin_names[i]);
    }
    row->started_ms = number_of(from, "started_ms");
    row->duration_ms = number_of(from, "duration_ms");
    row->is_session = strcmp(row->kind, "session") == 0;
    row->used_ms = row->is_session ? number_of(from, "counted_ms") : 0;
    row->hang_free = number_of(from, "hang_free") != 0;
}

static void mark(struct clickhouse *c, struct clickhouse_new *new, const json_t *from) {
    new->changed = clickhouse_changed(c);
    new->received_ms = number_of(from, "received_ms");
    new->week = number_of(from, "week_number");
}

void clickhouse_moving_make(struct clickhouse *c, struct clickhouse_moving *m, const json_t *from,
                            struct row *row) {
    struct row *old = &m->old;
    *m = (struct clickhouse_moving){.is_left = number_of(from, "newest_sign") < 0};
    take_text(old->id, sizeof old->id, from, "id");
    take_text(old->group.fingerprint, sizeof old->group.fingerprint, from, "fingerprint");
    take_counted(old, from);
    take_counted(row, from);
    old->grouped = old->group.fingerprint[0] != '\0';
    old->is_hang = row->is_hang;
    if (number_of(from, "brief") != 0) {
        snprintf(old->repeat_of, sizeof old->repeat_of, "%s", row->repeat_of);
    }
    m->out.row = old;
    m->out.sign = -1;
    mark(c, &m->out, from);
    m->in.row = row;
    m->in.sign = 1;
    m->in.leaves = old->group.fingerprint;
    m->in.looks_for_group = row->grouped;
    mark(c, &m->in, from);
    m->in.stand = clickhouse_stand_first(row, m->in.changed);
}

bool clickhouse_move(struct clickhouse *c, const struct clickhouse_moving *all, size_t count) {
    struct clickhouse_new *rows = calloc(2 * count + 1, sizeof *rows);
    size_t used = 0;
    for (size_t i = 0; rows != NULL && i < count; i++) {
        if (all[i].old.id[0] == '\0') {
            continue;
        }
        if (!all[i].is_left) {
            rows[used] = all[i].out;
            rows[used++].row = (struct row *)&all[i].old;
        }
        rows[used++] = all[i].in;
    }
    bool done = rows != NULL && (used == 0 || clickhouse_insert(c, rows, used));
    free(rows);
    return done;
}

/* The row that the report has now; NULL: there is none. */
static json_t *find_row(struct clickhouse *c, const char *id) {
    json_t *key = clickhouse_first(
               clickhouse_rows(c, &c->writes,
                               "SELECT app, started_ms, argMax(fingerprint, changed) AS fingerprint FROM @ids"
                               " WHERE id = ?s GROUP BY app, started_ms",
                               id)),
           *row = NULL;
    if (key != NULL) {
        row = clickhouse_first(clickhouse_rows(
            c, &c->writes,
            "SELECT " CLICKHOUSE_COUNTED
            " FROM @report WHERE app = ?s AND fingerprint = ?s AND started_ms = ?i AND"
            " id = ?s ORDER BY changed DESC LIMIT 1",
            json_string_value(json_object_get(key, "app")),
            json_string_value(json_object_get(key, "fingerprint")), number_of(key, "started_ms"), id));
    }
    json_decref(key);
    return row;
}

enum store_result clickhouse_replace(void *at, struct row *row) {
    struct clickhouse *c = at;
    struct clickhouse_moving *m = calloc(1, sizeof *m);
    pthread_mutex_lock(&c->writes.lock);
    json_t *from = m != NULL ? find_row(c, row->id) : NULL;
    bool done = m != NULL;
    if (from != NULL) {
        clickhouse_moving_make(c, m, from, row);
        m->in.looks_for_group = row->grouped && !clickhouse_group_as_repeated(c, row);
        m->in.row = row;
        row->unnamed_count = 0; /* the report is already waiting for its other files */
        done = clickhouse_find_groups(c, &m->in, 1) && clickhouse_move(c, m, 1);
    }
    pthread_mutex_unlock(&c->writes.lock);
    json_decref(from);
    free(m);
    return done ? STORE_DONE : STORE_FAILED;
}
