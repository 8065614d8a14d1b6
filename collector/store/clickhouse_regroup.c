/* SPDX-License-Identifier: MIT
 *
 * Groups all reports again, a batch at a time, group after group. Reports with all functions come first,
 * since the others are compared with them. Brief repeats come last, since each gets the group of the repeated
 * report. An interrupted run starts again: moved reports already have their groups.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/clickhouse_private.h"

enum pass {
    WHOLE,
    PARTIAL,
    BRIEF,
    PASSES
};

static bool begin(struct clickhouse *c) {
    struct clickhouse_place *at = &c->place;
    json_t *row = clickhouse_first(clickhouse_rows(c, &c->writes, "SELECT max(epoch) AS epoch FROM @way"));
    bool well = row != NULL;
    if (well) {
        *at = (struct clickhouse_place){.runs = true};
        c->epoch = c->least_epoch = json_integer_value(json_object_get(row, "epoch")) + 1;
    }
    json_decref(row);
    return well;
}

/* The group after the present one, of this pass or the next; false: it failed. At the end it runs no more. */
static bool next_group(struct clickhouse *c) {
    struct clickhouse_place *at = &c->place;
    json_t *groups = clickhouse_rows(
        c, &c->writes,
        "SELECT app, fingerprint FROM @grouped WHERE app > ?s OR (app = ?s AND fingerprint > ?s)"
        " GROUP BY app, fingerprint HAVING sumMerge(n) > 0 ORDER BY app, fingerprint LIMIT 1",
        at->app, at->app, at->fingerprint);
    const json_t *group = json_array_get(groups, 0);
    at->after_ms = INT64_MIN;
    at->in_group = group != NULL;
    if (group != NULL) {
        snprintf(at->app, sizeof at->app, "%s", json_string_value(json_object_get(group, "app")));
        snprintf(at->fingerprint, sizeof at->fingerprint, "%s",
                 json_string_value(json_object_get(group, "fingerprint")));
    } else {
        at->app[0] = at->fingerprint[0] = '\0';
        at->pass++;
        at->runs = at->pass < PASSES;
    }
    bool well = groups != NULL;
    json_decref(groups);
    return well;
}

/* The next reports of the group, all that began in the same milliseconds. The place is behind them. */
static json_t *next_reports(struct clickhouse *c, long max) {
    struct clickhouse_place *at = &c->place;
    const int64_t brief = at->pass == BRIEF;
    json_t *until = clickhouse_first(clickhouse_rows(
        c, &c->writes,
        "SELECT max(started_ms) AS until, count() AS rows FROM (SELECT started_ms FROM @report WHERE app = ?s AND"
        " fingerprint = ?s AND brief = ?i AND started_ms > ?i ORDER BY started_ms LIMIT ?i)",
        at->app, at->fingerprint, brief, at->after_ms, (int64_t)max));
    int64_t rows = json_integer_value(json_object_get(until, "rows"));
    int64_t end = json_integer_value(json_object_get(until, "until"));
    json_t *reports = NULL;
    if (until != NULL && rows == 0) {
        at->in_group = false;
        reports = json_array();
    } else if (until != NULL) {
        reports = clickhouse_rows(c, &c->writes,
                                  "SELECT " CLICKHOUSE_COUNTED
                                  ", hex(body) AS body FROM (SELECT * FROM @report WHERE app = ?s AND"
                                  " fingerprint = ?s AND brief = ?i AND started_ms > ?i AND started_ms <= ?i)"
                                  " ORDER BY started_ms, id, changed DESC LIMIT 1 BY id",
                                  at->app, at->fingerprint, brief, at->after_ms, end);
        at->after_ms = end;
    }
    json_decref(until);
    return reports;
}

/* A report of a batch, with its text. */
struct again {
    struct row row;
    struct clickhouse_moving moving;
};

/* False: it is not of this pass, has left the group, or is damaged. */
static bool read_again(struct clickhouse *c, struct again *one, const json_t *from, const json_t *schema) {
    struct schema_fault fault;
    size_t bytes = 0;
    char *text = json_integer_value(json_object_get(from, "newest_sign")) > 0
                     ? clickhouse_text_of(from, &bytes)
                     : NULL;
    if (text == NULL) {
        return false;
    }
    bool read = row_make(text, bytes, schema, &one->row, &fault) && one->row.grouped;
    free(text);
    if (read && c->place.pass != BRIEF) {
        read = (strncmp(one->row.group.frames, "partial", 7) == 0) == (c->place.pass == PARTIAL);
    }
    if (read) {
        clickhouse_moving_make(c, &one->moving, from, &one->row);
        one->row.unnamed_count = 0;
        one->moving.in.looks_for_group =
            c->place.pass != BRIEF || !clickhouse_group_as_repeated(c, &one->row);
    }
    return read;
}

static void remember_move(struct clickhouse *c, const char *from, const char *to) {
    struct clickhouse_place *at = &c->place;
    for (size_t i = 0; i < at->moves; i++) {
        if (strcmp(at->move[i].from, from) == 0 && strcmp(at->move[i].to, to) == 0) {
            return;
        }
    }
    if (at->moves < CLICKHOUSE_MOVES_MAX) {
        snprintf(at->move[at->moves].from, sizeof at->move[0].from, "%s", from);
        snprintf(at->move[at->moves++].to, sizeof at->move[0].to, "%s", to);
    }
}

static bool move_batch(struct clickhouse *c, struct again *all, size_t count) {
    struct clickhouse_new *looking = calloc(count + 1, sizeof *looking);
    struct clickhouse_moving *moving = calloc(count + 1, sizeof *moving);
    size_t used = 0;
    bool well = looking != NULL && moving != NULL;
    for (size_t i = 0; well && i < count; i++) {
        looking[i] = all[i].moving.in;
        looking[i].row = &all[i].row;
        looking[i].leaves = NULL; /* only groups of this epoch are compared with */
    }
    well = well && clickhouse_find_groups(c, looking, count);
    for (size_t i = 0; well && i < count; i++) {
        if (strcmp(all[i].moving.old.group.fingerprint, all[i].row.group.fingerprint) != 0) {
            moving[used] = all[i].moving;
            moving[used++].in = looking[i];
            remember_move(c, all[i].moving.old.group.fingerprint, all[i].row.group.fingerprint);
        }
    }
    well = well && clickhouse_move(c, moving, used);
    free(looking);
    free(moving);
    return well;
}

static bool regroup_reports(struct clickhouse *c, const json_t *reports, const json_t *schema) {
    size_t count = 0, i;
    const json_t *report;
    struct again *all = calloc(json_array_size(reports) + 1, sizeof *all);
    bool well = all != NULL;
    for (i = 0; well && i < json_array_size(reports); i++) {
        report = json_array_get(reports, i);
        if (read_again(c, &all[count], report, schema)) {
            count++;
        } else {
            row_free(&all[count].row);
            memset(&all[count], 0, sizeof all[count]);
        }
    }
    well = well && move_batch(c, all, count);
    for (i = 0; i < count; i++) {
        row_free(&all[i].row);
    }
    free(all);
    return well;
}

long clickhouse_regroup(void *at, const json_t *schema, long max) {
    struct clickhouse *c = at;
    long count = 0;
    pthread_mutex_lock(&c->writes.lock);
    bool well = clickhouse_make_tables(c, &c->writes) && (c->place.runs || begin(c));
    c->place.moves = 0;
    while (well && c->place.runs && count == 0) {
        if (!c->place.in_group) {
            well = next_group(c);
            continue;
        }
        json_t *reports = next_reports(c, max);
        count = (long)json_array_size(reports);
        well = reports != NULL && regroup_reports(c, reports, schema);
        json_decref(reports);
    }
    if (well && !c->place.runs) {
        c->least_epoch = 0;
    }
    pthread_mutex_unlock(&c->writes.lock);
    return well ? count : -1;
}

bool clickhouse_next_move(void *at, char from[GROUPING_HEX + 1], char to[GROUPING_HEX + 1]) {
    struct clickhouse *c = at;
    pthread_mutex_lock(&c->writes.lock);
    bool is = c->place.moves > 0;
    if (is) {
        const struct clickhouse_move *move = &c->place.move[--c->place.moves];
        memcpy(from, move->from, sizeof move->from);
        memcpy(to, move->to, sizeof move->to);
    }
    pthread_mutex_unlock(&c->writes.lock);
    return is;
}
