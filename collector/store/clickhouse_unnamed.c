/* SPDX-License-Identifier: MIT
 *
 * Which reports wait for which debug file: those that any collector took. A view of the reports lists them; a
 * newer row says that one waits no more. One thread of each collector asks and ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/clickhouse_private.h"

/* Sends several ends in one insert, since each insert costs the same. A lost end causes only a second
 * look-up, without a change. */
static bool send_ends(struct clickhouse *c) {
    struct clickhouse_bytes data = {0};
    struct clickhouse_waits *w = &c->waits;
    for (size_t i = 0; i < w->ends; i++) {
        clickhouse_add_number(&data, clickhouse_week((int64_t)time(NULL)), 2);
        clickhouse_add_number(&data, clickhouse_changed(c), 8);
        clickhouse_add_text(&data, w->build_id, strlen(w->build_id));
        clickhouse_add_text(&data, w->end[i], strlen(w->end[i]));
        clickhouse_add_number(&data, 0, 1);
    }
    bool done =
        w->ends == 0 || clickhouse_insert_into(c, "@unnamed(week, changed, build_id, id, waits)", &data);
    w->ends = done ? 0 : w->ends;
    free(data.data);
    return done;
}

static int ask(struct clickhouse *c, char (*ids)[ROW_ID_CHARS + 1], int max) {
    json_t *rows = clickhouse_rows(c, &c->writes,
                                   "SELECT id FROM @unnamed WHERE build_id = ?s AND id > ?s GROUP BY id"
                                   " HAVING argMax(waits, changed) = 1 ORDER BY id LIMIT ?i",
                                   c->waits.build_id, c->waits.after, (int64_t)max),
           *row;
    int count = 0;
    size_t i;
    json_array_foreach(rows, i, row) {
        snprintf(ids[count++], ROW_ID_CHARS + 1, "%s", json_string_value(json_object_get(row, "id")));
    }
    json_decref(rows);
    return count;
}

int clickhouse_unnamed(void *at, const char *build_id, char (*ids)[ROW_ID_CHARS + 1], int max) {
    struct clickhouse *c = at;
    struct clickhouse_waits *w = &c->waits;
    int count = 0;
    pthread_mutex_lock(&c->writes.lock);
    if (send_ends(c)) {
        if (strcmp(w->build_id, build_id) != 0) {
            snprintf(w->build_id, sizeof w->build_id, "%s", build_id);
            w->after[0] = '\0';
        }
        count = ask(c, ids, max);
        if (count == 0 && w->after[0] != '\0') {
            w->after[0] = '\0'; /* some came meanwhile that stand before */
            count = ask(c, ids, max);
        }
        if (count > 0) {
            snprintf(w->after, sizeof w->after, "%s", ids[count - 1]);
        }
    }
    pthread_mutex_unlock(&c->writes.lock);
    return count;
}

bool clickhouse_end_unnamed(void *at, const char *build_id, const char *id) {
    struct clickhouse *c = at;
    struct clickhouse_waits *w = &c->waits;
    pthread_mutex_lock(&c->writes.lock);
    bool done = w->ends < CLICKHOUSE_ENDS_MAX || send_ends(c);
    if (done && strcmp(w->build_id, build_id) == 0) {
        snprintf(w->end[w->ends++], sizeof w->end[0], "%s", id);
    }
    pthread_mutex_unlock(&c->writes.lock);
    return done;
}
