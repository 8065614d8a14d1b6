/* SPDX-License-Identifier: MIT */
#include "collector/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/clickhouse.h"
#include "collector/store/marks.h"
#include "collector/store/postgres_state.h"
#include "collector/store/sqlite.h"
#include "collector/store/state_backend.h"
#include "collector/store/store_backend.h"

struct store {
    const struct store_backend *backend;
    const struct state_backend *state_backend;
    void *reports, *state; /* the backends'; the same where both are in one SQLite file */
    long limit_mib;
};

const char *store_file_of(const char *url) {
    static const char scheme[] = "sqlite:";
    if (strncmp(url, scheme, sizeof scheme - 1) == 0) {
        return url + sizeof scheme - 1;
    }
    return strstr(url, "://") == NULL ? url : NULL;
}

bool store_state_is_shared(const char *state) {
    return state != NULL &&
           (strncmp(state, "postgresql://", 13) == 0 || strncmp(state, "postgres://", 11) == 0);
}

/* Where keys and settings are: with the reports, or in a place of their own. */
static const char *state_of(const struct store_place *place, struct problem *why) {
    const char *file = store_file_of(place->url);
    if (file == NULL && strncmp(place->url, "clickhouse://", 13) != 0) {
        error_set(why,
                  "cannot open the store %s: want a file, sqlite:FILE or clickhouse://HOST:PORT/DATABASE",
                  place->url);
        return NULL;
    }
    return file != NULL ? file : place->state;
}

static bool open_state(struct store *s, const char *state, long limit_mib, struct problem *why) {
    bool shared = store_state_is_shared(state);
    s->state_backend = shared ? &postgres_state : &sqlite_state;
    s->state = shared ? postgres_state_open(state, why) : sqlite_open(state, limit_mib, why);
    return s->state != NULL;
}

struct store *store_open(const struct store_place *place, struct problem *why) {
    const char *state = state_of(place, why);
    struct store *s = state != NULL ? calloc(1, sizeof *s) : NULL;
    if (s == NULL || !open_state(s, state, place->limit_mib, why)) {
        if (s == NULL && state != NULL) {
            error_set(why, "cannot open the store %s: out of memory", place->url);
        }
        free(s);
        return NULL;
    }
    bool in_file = store_file_of(place->url) != NULL;
    s->limit_mib = in_file ? place->limit_mib : 0;
    s->backend = in_file ? &sqlite_backend : &clickhouse_backend;
    s->reports = in_file ? s->state : clickhouse_open(place->url, why);
    if (s->reports == NULL) {
        s->state_backend->close(s->state);
        free(s);
        return NULL;
    }
    return s;
}

void store_close(struct store *s) {
    if (s == NULL) {
        return;
    }
    s->backend->close(s->reports);
    if (s->reports != s->state) {
        s->state_backend->close(s->state);
    }
    free(s);
}

long store_limit_mib(const struct store *s) {
    return s->limit_mib;
}

const char *store_error(const struct store *s) {
    return s->backend->error(s->reports);
}

enum store_result store_add(struct store *s, struct row *const *rows, size_t count) {
    return s->backend->add(s->reports, rows, count);
}

long store_remove_old(struct store *s, int64_t before_ms, long max) {
    return s->backend->remove_old(s->reports, before_ms, max);
}

int64_t store_about_reports(struct store *s) {
    return s->backend->about_reports != NULL ? s->backend->about_reports(s->reports) : 0;
}

void store_settle(struct store *s) {
    if (s->backend->settle != NULL) {
        s->backend->settle(s->reports);
    }
}

long store_regroup(struct store *s, const json_t *schema, long max) {
    char from[GROUPING_HEX + 1], to[GROUPING_HEX + 1];
    struct store_issue issue;
    long count = s->backend->regroup != NULL ? s->backend->regroup(s->reports, schema, max) : -1;
    /* Notes about the old group move to the new one, unless the new one has notes. */
    while (count > 0 && s->backend->next_move != NULL && s->backend->next_move(s->reports, from, to)) {
        if (s->state_backend->issue_get(s->state, to, &issue) == STORE_NONE &&
            s->state_backend->issue_get(s->state, from, &issue) == STORE_FOUND &&
            !s->state_backend->issue_set(s->state, to, &issue)) {
            return -1;
        }
    }
    return count;
}

long store_erase(struct store *s, const struct store_erasure *what, const json_t *schema, int64_t *at,
                 long rows) {
    return s->backend->erase != NULL ? s->backend->erase(s->reports, what, schema, at, rows) : -2;
}

enum store_result store_replace(struct store *s, struct row *row) {
    return s->backend->replace != NULL ? s->backend->replace(s->reports, row) : STORE_FAILED;
}

int store_unnamed(struct store *s, const char *build_id, char (*ids)[ROW_ID_CHARS + 1], int max) {
    return s->backend->unnamed != NULL ? s->backend->unnamed(s->reports, build_id, ids, max) : 0;
}

bool store_end_unnamed(struct store *s, const char *build_id, const char *id) {
    return s->backend->end_unnamed != NULL && s->backend->end_unnamed(s->reports, build_id, id);
}

/* ---- keys and settings ---- */

int store_keys(struct store *s, struct store_key *keys, int max) {
    return s->state_backend->keys(s->state, keys, max);
}

int64_t store_add_key(struct store *s, enum key_use use, const char *app, const uint8_t hash[SHA256_BYTES]) {
    return s->state_backend->add_key(s->state, use, app, hash);
}

enum store_found store_remove_key(struct store *s, int64_t id) {
    return s->state_backend->remove_key(s->state, id);
}

bool store_count_key(struct store *s, int64_t id, int64_t used_ms, int64_t day, int64_t reports) {
    return s->state_backend->count_key(s->state, id, used_ms, day, reports);
}

enum store_found store_setting_get(struct store *s, const char *name, char value[STORE_SETTING_BYTES]) {
    return s->state_backend->setting_get(s->state, name, value);
}

bool store_setting_set(struct store *s, const char *name, const char *value) {
    return s->state_backend->setting_set(s->state, name, value);
}

/* ---- pages ---- */

/* The states of groups, as they are now. While they cannot be read, all groups are open. NULL: no memory. */
static struct marks *read_marks(struct store *s) {
    struct marks *m = marks_new();
    if (m != NULL && !s->state_backend->marks(s->state, marks_add, m)) {
        m->count = 0;
    }
    if (m == NULL || m->no_memory) {
        marks_free(m);
        return NULL;
    }
    s->backend->find_regressed(s->reports, m->all, m->count);
    marks_sort(m);
    return m;
}

/* Sets the states of the page's groups. NULL marks: the page is freed, since it would show wrong ones. */
static json_t *with_marks(json_t *page, struct marks *m) {
    json_t *group;
    size_t i;
    if (m == NULL) {
        json_decref(page);
        return NULL;
    }
    json_array_foreach(json_object_get(page, "groups"), i, group) {
        marks_show(m, group);
    }
    marks_free(m);
    return page;
}

typedef json_t *(*groups_query)(void *at, const struct store_group_filter *filter);

static json_t *query_groups(struct store *s, const struct store_group_filter *filter, groups_query query) {
    struct store_group_filter of = *filter;
    struct marks *m = read_marks(s);
    json_t *only = NULL, *without = NULL, *page = NULL;
    if (m != NULL) {
        marks_choose(m, filter, &only, &without);
        of.only = only;
        of.without = without;
        page = query(s->reports, &of);
    }
    json_decref(only);
    json_decref(without);
    return with_marks(page, m);
}

json_t *store_overview(struct store *s, const struct store_group_filter *filter) {
    return query_groups(s, filter, s->backend->overview);
}

json_t *store_groups(struct store *s, const struct store_group_filter *filter) {
    return query_groups(s, filter, s->backend->groups);
}

json_t *store_origins(struct store *s, const struct store_origin_filter *filter) {
    return s->backend->origins(s->reports, filter);
}

json_t *store_versions(struct store *s, const char *app) {
    return s->backend->versions(s->reports, app);
}

/* Adds the notes about a group to the group's object. */
static void add_issue(struct store *s, json_t *group, const char *fingerprint) {
    struct store_issue issue;
    struct store_mark mark = {.state = "open"};
    bool known = s->state_backend->issue_get(s->state, fingerprint, &issue) == STORE_FOUND;
    if (known) {
        mark.resolved_ms = issue.resolved_ms;
        mark.resolved_count = issue.resolved_count;
        memcpy(mark.state, issue.state, sizeof mark.state);
        memcpy(mark.resolved_in, issue.resolved_in, sizeof mark.resolved_in);
        snprintf(mark.fingerprint, sizeof mark.fingerprint, "%s", fingerprint);
        s->backend->find_regressed(s->reports, &mark, 1);
    }
    bool resolved = strcmp(mark.state, "resolved") == 0;
    json_object_set_new(group, "state", json_string(mark.state));
    json_object_set_new(group, "regressed", json_boolean(mark.is_regressed));
    json_object_set_new(group, "resolved_in", json_string(resolved ? mark.resolved_in : ""));
    json_object_set_new(group, "note", json_string(known ? issue.note : ""));
}

json_t *store_group(struct store *s, const char *fingerprint) {
    json_t *group = s->backend->group(s->reports, fingerprint);
    if (group != NULL) {
        add_issue(s, group, fingerprint);
    }
    return group;
}

json_t *store_kinds(struct store *s, const char *app, int days) {
    return s->backend->kinds(s->reports, app, days);
}

json_t *store_compare(struct store *s, const char *app, const char *from, const char *to) {
    return s->backend->compare(s->reports, app, from, to);
}

json_t *store_search(struct store *s, const char *words, const char *app, long offset) {
    json_t *page = s->backend->search(s->reports, words, app, offset);
    return page != NULL ? with_marks(page, read_marks(s)) : NULL;
}

json_t *store_counts(struct store *s) {
    return s->backend->counts(s->reports);
}

json_t *store_reports(struct store *s, const struct store_filter *filter) {
    return s->backend->reports(s->reports, filter);
}

void *store_report_body(struct store *s, const char *id, size_t *bytes) {
    return s->backend->report_body(s->reports, id, bytes);
}

char *store_report(struct store *s, const char *id, size_t *bytes) {
    size_t stored = 0;
    void *body = store_report_body(s, id, &stored);
    char *text = body != NULL ? row_text(body, stored, bytes) : NULL;
    free(body);
    return text;
}

void store_each_report(struct store *s, const struct store_filter *filter,
                       void (*take)(void *to, const char *text, size_t bytes), void *to) {
    s->backend->each_report(s->reports, filter, take, to);
}

struct group_taker {
    void (*take)(void *to, size_t group, const char *text, size_t bytes);
    void *to;
    size_t group;
};

static void take_of_group(void *to, const char *text, size_t bytes) {
    const struct group_taker *t = to;
    t->take(t->to, t->group, text, bytes);
}

void store_each_of_groups(struct store *s, const struct store_groups *of,
                          void (*take)(void *to, size_t group, const char *text, size_t bytes), void *to) {
    if (s->backend->each_of_groups != NULL) {
        s->backend->each_of_groups(s->reports, of, take, to);
        return;
    }
    struct group_taker t = {.take = take, .to = to};
    for (; t.group < json_array_size(of->fingerprints); t.group++) {
        const char *fingerprint = json_string_value(json_array_get(of->fingerprints, t.group));
        store_each_report(
            s, &(struct store_filter){.fingerprint = fingerprint, .version = of->version, .limit = of->each},
            take_of_group, &t);
    }
}

enum store_found store_set_issue(struct store *s, const char *fingerprint, const char *state,
                                 const char *note) {
    struct store_issue issue;
    struct timespec now;
    json_t *group = s->backend->group(s->reports, fingerprint);
    if (group == NULL) {
        return STORE_NONE;
    }
    enum store_found found = s->state_backend->issue_get(s->state, fingerprint, &issue);
    if (found == STORE_UNREAD) { /* to write now would lose its note */
        json_decref(group);
        return STORE_UNREAD;
    }
    if (found == STORE_NONE) {
        issue = (struct store_issue){.state = "open"};
    }
    if (state != NULL) {
        snprintf(issue.state, sizeof issue.state, "%s", state);
    }
    if (note != NULL) {
        snprintf(issue.note, sizeof issue.note, "%s", note);
    }
    if (state != NULL && strcmp(state, "resolved") == 0) {
        const char *newest = json_string_value(json_object_get(group, "newest_version"));
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(issue.resolved_in, sizeof issue.resolved_in, "%s", newest != NULL ? newest : "");
        issue.resolved_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
        issue.resolved_count = json_integer_value(json_object_get(group, "count"));
    }
    json_decref(group);
    return s->state_backend->issue_set(s->state, fingerprint, &issue) ? STORE_FOUND : STORE_UNREAD;
}
