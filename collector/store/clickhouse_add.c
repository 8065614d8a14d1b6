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

/* A group is shown by its first report, until one comes that lacks less. A brief repeat shows it only while
 * it has no other. */
#define STAND_FIRST (INT64_C(1) << 61)
#define STAND_BRIEF (INT64_C(1) << 60)

int64_t clickhouse_changed(struct clickhouse *c) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    c->last_changed = us > c->last_changed ? us : c->last_changed + 1;
    return c->last_changed;
}

/* A block that is known: what ClickHouse has of the ids of the rows, and of those that they repeat. */
struct known {
    json_t *ids;  /* id -> {session, app, fingerprint} */
    json_t *runs; /* session, own fingerprint -> {fingerprint, version}; session -> the same */
};

/* rows, as an object by a member of each. */
static json_t *by_member(json_t *rows, const char *member) {
    json_t *all = rows != NULL ? json_object() : NULL, *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        json_object_set(all, json_string_value(json_object_get(row, member)), row);
    }
    json_decref(rows);
    return all;
}

static json_t *find_ids(struct clickhouse *c, struct row *const *rows, size_t count) {
    json_t *ids = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(ids, json_string(rows[i]->id));
        if (rows[i]->repeat_of[0] != '\0') {
            json_array_append_new(ids, json_string(rows[i]->repeat_of));
        }
    }
    json_t *known = by_member(
        clickhouse_rows(
            c, &c->writes,
            "SELECT id, session, app, argMax(fingerprint, changed) AS fingerprint FROM @ids WHERE id IN ?l"
            " GROUP BY id, session, app",
            ids),
        "id");
    json_decref(ids);
    return known;
}

static bool needs_run(const struct row *row) {
    return row->session[0] != '\0' &&
           (row->repeat_of[0] != '\0' || (row->is_session && row->version[0] == '\0'));
}

static void run_key(char key[160], const char *session, const char *own) {
    snprintf(key, 160, "%s\n%s", session, own);
}

/* For brief repeats, and for the sessions of an app that has no version: its hangs have the build's. */
static json_t *find_runs(struct clickhouse *c, struct row *const *rows, size_t count) {
    json_t *sessions = json_array(), *runs = json_object(), *found, *run;
    size_t i;
    for (i = 0; i < count; i++) {
        if (needs_run(rows[i])) {
            json_array_append_new(sessions, json_string(rows[i]->session));
        }
    }
    if (json_array_size(sessions) > 0) {
        found = clickhouse_rows(
            c, &c->writes,
            "SELECT session, own_fingerprint, argMax(fingerprint, changed) AS fingerprint, max(version) AS"
            " version FROM @runs WHERE session IN ?l GROUP BY session, own_fingerprint",
            sessions);
        json_array_foreach(found, i, run) {
            const char *session = json_string_value(json_object_get(run, "session"));
            const char *version = json_string_value(json_object_get(run, "version"));
            char key[160];
            run_key(key, session, json_string_value(json_object_get(run, "own_fingerprint")));
            json_object_set(runs, key, run);
            if (version != NULL && version[0] != '\0') {
                json_object_set(runs, session, run);
            }
        }
        if (found == NULL) {
            json_decref(runs);
            runs = NULL;
        }
        json_decref(found);
    }
    json_decref(sessions);
    return runs;
}

static bool take_group(struct row *row, const json_t *from) {
    const char *fingerprint = json_string_value(json_object_get(from, "fingerprint"));
    if (fingerprint == NULL || fingerprint[0] == '\0') {
        return false;
    }
    snprintf(row->group.fingerprint, sizeof row->group.fingerprint, "%s", fingerprint);
    return true;
}

/* A brief repeat has no threads: its group is that of the whole report before it. */
static bool group_as_repeated(struct row *row, const struct known *known) {
    const json_t *before = json_object_get(known->ids, row->repeat_of);
    const char *session = json_string_value(json_object_get(before, "session"));
    const char *app = json_string_value(json_object_get(before, "app"));
    char key[160];
    if (session != NULL && strcmp(session, row->session) == 0 && app != NULL && strcmp(app, row->app) == 0 &&
        take_group(row, before)) {
        return true;
    }
    run_key(key, row->session, row->own_fingerprint);
    const json_t *run = json_object_get(known->runs, key);
    app =
        json_string_value(json_object_get(run, "app")); /* the table has none, and rows of this block have */
    return row->session[0] != '\0' && row->own_fingerprint[0] != '\0' &&
           (app == NULL || strcmp(app, row->app) == 0) && take_group(row, run);
}

bool clickhouse_group_as_repeated(struct clickhouse *c, struct row *row) {
    struct row *const rows[] = {row};
    if (row->repeat_of[0] == '\0') {
        return false;
    }
    const struct known known = {find_ids(c, rows, 1), find_runs(c, rows, 1)};
    bool found = group_as_repeated(row, &known);
    json_decref(known.ids);
    json_decref(known.runs);
    return found;
}

/* The rows of the block may be repeated by others of it. */
static void learn(const struct row *row, const struct known *known) {
    char key[160];
    json_t *run = json_pack("{s:s, s:s, s:s}", "session", row->session, "app", row->app, "fingerprint",
                            row->grouped ? row->group.fingerprint : "");
    json_object_set(known->ids, row->id, run);
    run_key(key, row->session, row->own_fingerprint);
    if (row->repeat_of[0] == '\0' && json_object_get(known->runs, key) == NULL) {
        json_object_set(known->runs, key, run);
    }
    if (row->version[0] != '\0' && json_object_get(known->runs, row->session) == NULL) {
        json_object_set_new(run, "version", json_string(row->version));
        json_object_set(known->runs, row->session, run);
    }
    json_decref(run);
}

int64_t clickhouse_week(int64_t seconds) {
    int64_t day = seconds / 86400;
    return day - (day + 3) % 7; /* from a Monday */
}

int64_t clickhouse_stand_first(const struct row *row, int64_t changed) {
    return (row->repeat_of[0] != '\0' ? STAND_BRIEF : STAND_FIRST) - changed;
}

static void mark_new(struct clickhouse *c, struct row *row, struct clickhouse_new *new) {
    int64_t now_s = (int64_t)time(NULL);
    int64_t changed = clickhouse_changed(c);
    *new = (struct clickhouse_new){.row = row,
                                   .changed = changed,
                                   .stand = clickhouse_stand_first(row, changed),
                                   .received_ms = now_s * 1000,
                                   .week = clickhouse_week(now_s),
                                   .sign = 1};
}

/* The new rows with their groups: first those that others may repeat. */
static bool group_all(struct clickhouse *c, struct clickhouse_new *all, size_t count,
                      const struct known *known) {
    for (size_t i = 0; i < count; i++) {
        all[i].looks_for_group = all[i].row->grouped && all[i].row->repeat_of[0] == '\0';
    }
    if (!clickhouse_find_groups(c, all, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (all[i].looks_for_group) {
            learn(all[i].row, known);
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct row *row = all[i].row;
        const json_t *run = json_object_get(known->runs, row->session);
        all[i].looks_for_group = row->grouped && row->repeat_of[0] != '\0' && !group_as_repeated(row, known);
        if (row->is_session && row->version[0] == '\0' && run != NULL) {
            snprintf(row->version, sizeof row->version, "%s",
                     json_string_value(json_object_get(run, "version")));
        }
    }
    return clickhouse_find_groups(c, all, count);
}

static bool add_new(struct clickhouse *c, struct row *const *rows, size_t count, const struct known *known,
                    struct clickhouse_new *all) {
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        rows[i]->outcome = json_object_get(known->ids, rows[i]->id) != NULL ? ROW_REPEATED : ROW_STORED;
        if (rows[i]->outcome == ROW_STORED) {
            mark_new(c, rows[i], &all[used++]);
            json_object_set_new(known->ids, rows[i]->id, json_object());
        }
    }
    return used == 0 || (group_all(c, all, used, known) && clickhouse_insert(c, all, used));
}

enum store_result clickhouse_add(void *at, struct row *const *rows, size_t count) {
    struct clickhouse *c = at;
    struct clickhouse_new *all = calloc(count + 1, sizeof *all);
    struct known known = {0};
    pthread_mutex_lock(&c->writes.lock);
    bool added = all != NULL && clickhouse_make_tables(c, &c->writes) &&
                 (known.ids = find_ids(c, rows, count)) != NULL &&
                 (known.runs = find_runs(c, rows, count)) != NULL && add_new(c, rows, count, &known, all);
    for (size_t i = 0; !added && i < count; i++) {
        rows[i]->outcome = ROW_PENDING;
    }
    pthread_mutex_unlock(&c->writes.lock);
    json_decref(known.ids);
    json_decref(known.runs);
    free(all);
    return added ? STORE_DONE : STORE_FAILED;
}
