/* SPDX-License-Identifier: MIT
 * Finds the group of a report, by the rule of sqlite_group.c. The table `way` has the group of each known
 * fingerprint. A new fingerprint is compared with the app's other groups. Two collectors may enter a new path
 * at the same time: then the first entry counts. Runs on the writer's thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_text.h"
#include "collector/store/choices.h"
#include "collector/store/clickhouse_private.h"

#define COMPARED_WITH_MAX "300"
/* More than any report has that shows its group only because it was the first. */
#define STAND_BETTER (INT64_C(1) << 62)

/* The rows that have no way yet, and what they are compared with. */
struct search {
    json_t *ways;                    /* own fingerprint -> group */
    json_t *groups;                  /* {family, fingerprint, frames, count} */
    struct clickhouse_bytes entries; /* of the table `way` */
    struct choices choices;
};

static bool is_looking(const struct clickhouse_new *new) {
    return new->looks_for_group &&new->row->group.family[0] != '\0';
}

static bool find_ways(struct clickhouse *c, const struct clickhouse_new *all, size_t count,
                      struct search *s) {
    json_t *families = json_array(), *own = json_array(), *way;
    size_t i;
    for (i = 0; i < count; i++) {
        if (is_looking(&all[i])) {
            json_array_append_new(families, json_string(all[i].row->group.family));
            json_array_append_new(own, json_string(all[i].row->group.fingerprint));
        }
    }
    json_t *found = clickhouse_rows(
        c, &c->writes,
        "SELECT way, argMax(fingerprint, epoch * " CLICKHOUSE_EPOCH
        " - changed) AS fingerprint, max(epoch) AS newest FROM @way WHERE family IN ?l AND way IN ?l GROUP BY way",
        families, own);
    json_array_foreach(found, i, way) {
        int64_t epoch = json_integer_value(json_object_get(way, "newest"));
        c->epoch = epoch > c->epoch ? epoch : c->epoch;
        if (epoch >= c->least_epoch) {
            json_object_set(s->ways, json_string_value(json_object_get(way, "way")),
                            json_object_get(way, "fingerprint"));
        }
    }
    bool well = found != NULL;
    json_decref(found);
    json_decref(families);
    json_decref(own);
    return well;
}

/* Groups that lost all reports are compared with none. */
static bool count_groups(struct clickhouse *c, struct search *s) {
    json_t *counts = clickhouse_rows(
               c, &c->writes,
               "SELECT fingerprint, sumMerge(n) AS count FROM @grouped WHERE (app, fingerprint)"
               " IN ?p GROUP BY fingerprint HAVING count > 0",
               s->groups),
           *by_name = json_object(), *row;
    size_t i;
    json_array_foreach(counts, i, row) {
        json_object_set(by_name, json_string_value(json_object_get(row, "fingerprint")),
                        json_object_get(row, "count"));
    }
    for (i = json_array_size(s->groups); i-- > 0;) {
        json_t *group = json_array_get(s->groups, i);
        json_t *n = json_object_get(by_name, json_string_value(json_object_get(group, "fingerprint")));
        if (n == NULL) {
            json_array_remove(s->groups, i);
        } else {
            json_object_set(group, "count", n);
        }
    }
    bool well = counts != NULL;
    json_decref(counts);
    json_decref(by_name);
    return well;
}

/* Takes out the groups whose last report leaves: no report is compared with an empty group. */
static void leave_groups(const struct clickhouse_new *all, size_t count, struct search *s) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = json_array_size(s->groups); all[i].leaves != NULL && j-- > 0;) {
            json_t *group = json_array_get(s->groups, j);
            int64_t n = json_integer_value(json_object_get(group, "count"));
            if (strcmp(json_text(group, "fingerprint"), all[i].leaves) == 0) {
                json_object_set_new(group, "count", json_integer(n - 1));
                if (n <= 1) {
                    json_array_remove(s->groups, j);
                }
            }
        }
    }
}

static bool find_compared(struct clickhouse *c, const struct clickhouse_new *all, size_t count,
                          struct search *s) {
    json_t *families = json_array();
    for (size_t i = 0; i < count; i++) {
        if (is_looking(&all[i]) && json_object_get(s->ways, all[i].row->group.fingerprint) == NULL) {
            json_array_append_new(families, json_string(all[i].row->group.family));
        }
    }
    bool well = true;
    if (json_array_size(families) > 0) {
        json_decref(s->groups);
        s->groups =
            clickhouse_rows(c, &c->writes,
                            "SELECT family, app, fingerprint, argMax(frames, stand) AS frames FROM @way WHERE"
                            " family IN ?l AND epoch = ?i GROUP BY family, app, fingerprint ORDER BY"
                            " min(changed) DESC LIMIT " COMPARED_WITH_MAX " BY family",
                            families, c->epoch);
        well = s->groups != NULL && (json_array_size(s->groups) == 0 || count_groups(c, s));
        leave_groups(all, count, s);
    }
    json_decref(families);
    return well;
}

/* Adds a report to its group; the report's path replaces the group's where it is the better one. */
static void join(struct search *s, const struct grouping *g, const char *group, bool better) {
    json_t *one;
    size_t i;
    json_array_foreach(s->groups, i, one) {
        if (strcmp(json_text(one, "fingerprint"), group) == 0) {
            int64_t n = json_integer_value(json_object_get(one, "count"));
            json_object_set_new(one, "count", json_integer(n + 1));
            if (better) {
                json_object_set_new(one, "frames", json_string(g->frames));
            }
            return;
        }
    }
    json_array_append_new(s->groups, json_pack("{s:s, s:s, s:s, s:i}", "family", g->family, "fingerprint",
                                               group, "frames", g->frames, "count", 1));
}

static void enter(const struct clickhouse *c, struct search *s, const struct clickhouse_new *new,
                  const char *way) {
    const struct grouping *g = &new->row->group;
    const char *const texts[] = {g->family, way, g->fingerprint, new->row->app, g->frames};
    const int64_t numbers[] = {new->stand, c->epoch, new->changed};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        clickhouse_add_text(&s->entries, texts[i], strlen(texts[i]));
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        clickhouse_add_number(&s->entries, numbers[i], 8);
    }
    json_object_set_new(s->ways, way, json_string(g->fingerprint));
}

static void choose(const struct clickhouse *c, struct search *s, struct clickhouse_new *new) {
    struct grouping *g = &new->row->group;
    char way[sizeof g->fingerprint];
    const json_t *one;
    size_t i;
    memcpy(way, g->fingerprint, sizeof way);
    const char *known = json_string_value(json_object_get(s->ways, way));
    if (known != NULL) {
        snprintf(g->fingerprint, sizeof g->fingerprint, "%s", known);
        return;
    }
    memset(&s->choices, 0, sizeof s->choices);
    json_array_foreach(s->groups, i, one) {
        if (strcmp(json_text(one, "family"), g->family) == 0) {
            choices_add(&s->choices, g->frames, json_text(one, "fingerprint"), json_text(one, "frames"),
                        json_integer_value(json_object_get(one, "count")));
        }
    }
    const struct choice *best = choices_best(&s->choices);
    bool better = best != NULL && alike_is_better(g->frames, best->frames);
    if (best != NULL) {
        memcpy(g->fingerprint, best->fingerprint, sizeof g->fingerprint);
    }
    new->stand = better ? STAND_BETTER + new->changed : new->stand;
    join(s, g, g->fingerprint, better);
    enter(c, s, new, way);
}

bool clickhouse_find_groups(struct clickhouse *c, struct clickhouse_new *all, size_t count) {
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        any = any || is_looking(&all[i]);
    }
    struct search *s = any ? calloc(1, sizeof *s) : NULL;
    if (s == NULL) {
        return !any;
    }
    s->ways = json_object();
    s->groups = json_array();
    bool well = find_ways(c, all, count, s) && find_compared(c, all, count, s);
    for (size_t i = 0; well && i < count; i++) {
        if (is_looking(&all[i])) {
            choose(c, s, &all[i]);
        }
    }
    if (well && s->entries.used > 0) {
        well = clickhouse_insert_into(c, "@way(family, way, fingerprint, app, frames, stand, epoch, changed)",
                                      &s->entries);
    }
    json_decref(s->ways);
    json_decref(s->groups);
    free(s->entries.data);
    free(s);
    return well;
}
