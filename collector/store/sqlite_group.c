/* SPDX-License-Identifier: MIT
 *
 * Which group a report comes to. Each fingerprint that came has its group in the table `way`: a group has the
 * ways of all builds of one bug. Runs on the writer's thread.
 */
#include "collector/store/sqlite_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/report/alike.h"

#define CHOICES 16

struct choice {
    char fingerprint[GROUPING_HEX + 1], frames[GROUPING_FRAMES_BYTES];
    int64_t count; /* of its reports */
};

/* The groups of the best rank so far. */
struct choices {
    struct choice one[CHOICES];
    enum alike rank;
    size_t count;
};

static bool has_way(struct sqlite *s, struct row *row) {
    sqlite3_stmt *q = sqlite_statement(s, FIND_WAY);
    bool found = false;
    if (q != NULL) {
        sqlite_bind(q, "s", row->group.fingerprint);
        if ((found = sqlite3_step(q) == SQLITE_ROW)) {
            snprintf(row->group.fingerprint, sizeof row->group.fingerprint, "%s",
                     (const char *)sqlite3_column_text(q, 0));
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
        const char *frames = (const char *)sqlite3_column_text(q, 1);
        enum alike rank = alike(g->frames, frames);
        if (rank > c->rank) {
            c->rank = rank;
            c->count = 0;
        }
        if (rank != ALIKE_NOT && rank == c->rank && c->count < CHOICES) {
            struct choice *one = &c->one[c->count++];
            snprintf(one->fingerprint, sizeof one->fingerprint, "%s",
                     (const char *)sqlite3_column_text(q, 0));
            snprintf(one->frames, sizeof one->frames, "%s", frames);
            one->count = sqlite3_column_int64(q, 2);
        }
    }
    sqlite3_reset(q);
}

/* The largest, where the others differ from it only by how deep they go. Else the report may be of any of
 * them, so it is of none: NULL. */
static const struct choice *choose(const struct choices *c) {
    const struct choice *best = &c->one[0];
    for (size_t i = 1; i < c->count; i++) {
        best = c->one[i].count > best->count ? &c->one[i] : best;
    }
    for (size_t i = 0; i < c->count; i++) {
        if (!alike_is_nested(c->one[i].frames, best->frames)) {
            return NULL;
        }
    }
    return c->count > 0 ? best : NULL;
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
    const struct choice *best = choose(c);
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
