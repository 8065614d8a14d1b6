/* SPDX-License-Identifier: MIT
 *
 * Which group a report comes to. Each fingerprint that came has its group in the table `way`: a group has the
 * ways of all builds of one bug. Runs on the writer's thread.
 */
#include "collector/store/sqlite_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/choices.h"

/* The way's group, as far as this transaction has looked it up; "": it has not. NULL: no memory. */
static char *known_way(struct sqlite *s, const char *fingerprint) {
    struct sum *way = sqlite_sum(s, FIND_WAY, fingerprint, NULL);
    return way != NULL ? way->group : NULL;
}

static bool has_way(struct sqlite *s, struct row *row) {
    char *known = known_way(s, row->group.fingerprint);
    bool found = known != NULL && known[0] != '\0';
    if (found) {
        memcpy(row->group.fingerprint, known, sizeof row->group.fingerprint);
        return true;
    }
    sqlite3_stmt *q = sqlite_statement(s, FIND_WAY);
    if (q != NULL) {
        sqlite_bind(q, "s", row->group.fingerprint);
        if ((found = sqlite3_step(q) == SQLITE_ROW)) {
            snprintf(row->group.fingerprint, sizeof row->group.fingerprint, "%s",
                     (const char *)sqlite3_column_text(q, 0));
            if (known != NULL) {
                memcpy(known, row->group.fingerprint, sizeof row->group.fingerprint);
            }
        }
        sqlite3_reset(q);
    }
    return found;
}

static void find_alike(struct sqlite *s, const struct grouping *g, struct choices *c) {
    sqlite3_stmt *q = sqlite_statement(s, FIND_FAMILY);
    if (q == NULL) {
        return;
    }
    sqlite_bind(q, "s", g->family);
    while (sqlite3_step(q) == SQLITE_ROW) {
        const char *fingerprint = (const char *)sqlite3_column_text(q, 0);
        const struct sum *more = sums_find(&s->sums, &(struct sum_key){COUNT_GROUP, {fingerprint}, 0});
        choices_add(c, g->frames, fingerprint, (const char *)sqlite3_column_text(q, 1),
                    sqlite3_column_int64(q, 2) + (more != NULL ? more->count : 0));
    }
    sqlite3_reset(q);
}

static bool add_way(struct sqlite *s, const char *fingerprint, const char *group) {
    return sqlite_add_sum(s, ADD_WAY, "ss", fingerprint, group);
}

/* The group is shown by the report of it that lacks least. */
static bool show_by(struct sqlite *s, const struct grouping *g, const char *group) {
    return sqlite_add_sum(s, SHOW_GROUP, "sssss", group, g->function, g->place, g->path, g->frames);
}

bool sqlite_group_find(struct sqlite *s, struct row *row) {
    struct grouping *g = &row->group;
    struct choices *c;
    if (g->family[0] == '\0' || has_way(s, row)) {
        return true;
    }
    if ((c = calloc(1, sizeof *c)) == NULL) {
        return true; /* a group of its own; the next one is compared again */
    }
    find_alike(s, g, c);
    const struct choice *best = choices_best(c);
    bool well = add_way(s, g->fingerprint, best != NULL ? best->fingerprint : g->fingerprint);
    if (well && best != NULL && alike_is_better(g->frames, best->frames)) {
        well = show_by(s, g, best->fingerprint);
    }
    if (best != NULL) {
        memcpy(g->fingerprint, best->fingerprint, sizeof g->fingerprint);
    }
    free(c);
    return well;
}
