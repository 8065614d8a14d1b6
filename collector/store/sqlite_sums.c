/* SPDX-License-Identifier: MIT
 *
 * The sums that pages read in place of reports. Runs on the writer's thread.
 */
#include "collector/store/sqlite_private.h"

/* A report has 2^step ms or more, and less than twice of it. */
static int64_t step_of(int64_t ms) {
    return ms < 2 ? 0 : 63 - __builtin_clzll((unsigned long long)ms);
}

static struct sum *sum_at(struct sqlite *s, enum statement which, const char *a, const char *b, const char *c,
                          int64_t number) {
    return sums_at(&s->sums, &(struct sum_key){which, {a, b, c}, number});
}

struct sum *sqlite_sum(struct sqlite *s, enum statement which, const char *a, const char *b) {
    return sum_at(s, which, a, b, NULL, 0);
}

static bool count_row(struct sum *sum, const struct row *row) {
    if (sum != NULL) {
        sum_add(sum, 1, row->duration_ms, row->started_ms);
    }
    return sum != NULL;
}

static bool count_origins(struct sqlite *s, const struct row *row) {
    bool well = true;
    for (int i = 0; well && i < ORIGINS; i++) {
        well = row->origin[i][0] == '\0' || count_row(sum_at(s, ADD_GROUP_ORIGIN, row->group.fingerprint,
                                                             row_origin_names[i], row->origin[i], 0),
                                                      row);
    }
    return well;
}

bool sqlite_add_group_sums(struct sqlite *s, const struct row *row) {
    const char *fingerprint = row->group.fingerprint;
    const int64_t day = row->started_ms / DAY_MS, step = step_of(row->duration_ms);
    return count_row(sum_at(s, ADD_GROUP_DAY, fingerprint, NULL, NULL, day), row) &&
           count_row(sum_at(s, ADD_GROUP_VERSION, row->app, row->version, fingerprint, 0), row) &&
           count_row(sum_at(s, ADD_GROUP_SYSTEM, fingerprint, row->system, NULL, 0), row) &&
           (row->label[0] == '\0' ||
            count_row(sum_at(s, ADD_GROUP_LABEL, fingerprint, row->label, NULL, 0), row)) &&
           count_origins(s, row) &&
           count_row(sum_at(s, ADD_GROUP_DURATION, fingerprint, row->kind, NULL, step), row) &&
           (s->sums.count < SUMS_MAX || sqlite_write_sums(s));
}

static bool is_sum(enum statement which) {
    return which >= COUNT_GROUP && which != ADD_USER;
}

static bool write_sum(struct sqlite *s, const struct sum *sum) {
    const struct sum_key key = sums_key(&s->sums, sum);
    const int64_t numbers[] = {key.number,  sum->count, sum->total_ms,  sum->first_ms, sum->last_ms,
                               sum->max_ms, sum->users, sum->hang_free, sum->runs,     sum->used_ms};
    sqlite3_stmt *q = sqlite_statement(s, (enum statement)key.table);
    if (q == NULL) {
        return false;
    }
    /* A statement without a place for a value refuses it, and that is well. */
    for (int i = 0; i < SUM_TEXTS; i++) {
        sqlite3_bind_text(q, 1 + i, key.texts[i], -1, SQLITE_STATIC);
    }
    for (int i = 0; i < (int)(sizeof numbers / sizeof numbers[0]); i++) {
        sqlite3_bind_int64(q, 1 + SUM_TEXTS + i, numbers[i]);
    }
    return sqlite_done(q);
}

bool sqlite_write_sums(struct sqlite *s) {
    bool well = true;
    for (size_t i = 0; well && i < s->sums.count; i++) {
        const struct sum *sum = &s->sums.all[i];
        well = !is_sum((enum statement)sum->table) || write_sum(s, sum);
    }
    sums_clear(&s->sums);
    return well;
}

void sqlite_forget_sums(struct sqlite *s) {
    sums_clear(&s->sums);
}

static bool run(struct sqlite *s, const char *sql, const char *types, const char *a, const char *b,
                const char *c, int64_t ms, int64_t number) {
    sqlite3_stmt *q = NULL;
    bool done = sqlite3_prepare_v2(s->writes, sql, -1, &q, NULL) == SQLITE_OK;
    if (done) {
        sqlite_bind(q, types, a, b, c, ms, number);
        done = sqlite3_step(q) == SQLITE_DONE;
    }
    sqlite3_finalize(q);
    return done;
}

#define LESS " SET count = count - 1, total_ms = max(0, total_ms - ?4) WHERE fingerprint = ?1"

bool sqlite_take_group_sums(struct sqlite *s, const char *old, const struct row *row) {
    static const char *const sql[] = {
        "UPDATE grouped" LESS,
        "UPDATE group_day" LESS " AND day = ?5",
        "UPDATE group_version" LESS " AND app = ?2 AND version = ?3",
        "UPDATE group_system" LESS " AND system = ?2",
        "UPDATE group_duration" LESS " AND kind = ?2 AND step = ?5",
        "UPDATE group_label" LESS " AND ?2 <> '' AND label = iif(" SQLITE_HAS_LABEL("?1", "?2") ", ?2, '')",
        "UPDATE group_origin" LESS " AND part = ?2 AND name = iif(" SQLITE_HAS_ORIGIN(
            "group_origin", "fingerprint", "?1", "?2", "?3") ", ?3, '')"};
    const int64_t ms = row->duration_ms, day = row->started_ms / DAY_MS;
    bool well = true;
    for (int i = 0; well && i < ORIGINS; i++) {
        well = row->origin[i][0] == '\0' ||
               run(s, sql[6], "sssi", old, row_origin_names[i], row->origin[i], ms, 0);
    }
    return well && run(s, sql[0], "sssi", old, "", "", ms, 0) &&
           run(s, sql[1], "sssii", old, "", "", ms, day) &&
           run(s, sql[2], "sssi", old, row->app, row->version, ms, 0) &&
           run(s, sql[3], "sssi", old, row->system, "", ms, 0) &&
           run(s, sql[4], "sssii", old, row->kind, "", ms, step_of(ms)) &&
           run(s, sql[5], "sssi", old, row->label, "", ms, 0);
}

/* Of a version: the time of hangs, and that of use. */
static bool add_version(const struct row *row, struct sum *sum) {
    if (sum != NULL) {
        sum_add(sum, row->is_hang, row->is_hang ? row->duration_ms : 0, row->started_ms);
        sum->runs += row->is_session;
        sum->used_ms += row->is_session ? row->used_ms : 0;
    }
    return sum != NULL;
}

static bool add_origins(struct sqlite *s, const struct row *row) {
    bool well = true;
    for (int i = 0; well && i < ORIGINS; i++) {
        well = row->origin[i][0] == '\0' ||
               add_version(row, sum_at(s, ADD_APP_ORIGIN, row->app, row_origin_names[i], row->origin[i], 0));
    }
    return well;
}

bool sqlite_add_sums(struct sqlite *s, const struct row *row) {
    const int64_t day = row->started_ms / DAY_MS, used_ms = row->is_session ? row->used_ms : 0;
    if (row->grouped && !sqlite_add_group_sums(s, row)) {
        return false;
    }
    struct sum *of_app = sum_at(s, ADD_APP_DAY, row->app, row->kind, NULL, day);
    if (of_app == NULL) {
        return false;
    }
    sum_add(of_app, 1, row->is_session ? used_ms : row->duration_ms, row->started_ms);
    of_app->hang_free += row->is_session && row->hang_free;
    return add_version(row, sum_at(s, ADD_VERSION_DAY, row->app, row->version, NULL, day)) &&
           add_version(row, sqlite_sum(s, ADD_APP_VERSION, row->app, row->version)) && add_origins(s, row) &&
           (s->sums.count < SUMS_MAX || sqlite_write_sums(s));
}
