/* SPDX-License-Identifier: MIT
 *
 * The sums that pages read in place of reports. Runs on the writer's thread.
 */
#include "collector/store/sqlite_private.h"

/* A report has 2^step ms or more, and less than twice of it. */
static int64_t step_of(int64_t ms) {
    return ms < 2 ? 0 : 63 - __builtin_clzll((unsigned long long)ms);
}

bool sqlite_add_group_sums(struct sqlite *s, const struct row *row) {
    const char *fingerprint = row->group.fingerprint;
    const int64_t day = row->started_ms / DAY_MS, ms = row->duration_ms;
    return sqlite_add_sum(s, ADD_GROUP_DAY, "sii", fingerprint, day, ms) &&
           sqlite_add_sum(s, ADD_GROUP_VERSION, "sssii", row->app, row->version, fingerprint, ms,
                          row->started_ms) &&
           sqlite_add_sum(s, ADD_GROUP_SYSTEM, "ssi", fingerprint, row->system, ms) &&
           sqlite_add_sum(s, ADD_GROUP_DURATION, "ssii", fingerprint, row->kind, step_of(ms), ms);
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
    static const char *const sql[] = {"UPDATE grouped" LESS, "UPDATE group_day" LESS " AND day = ?5",
                                      "UPDATE group_version" LESS " AND app = ?2 AND version = ?3",
                                      "UPDATE group_system" LESS " AND system = ?2",
                                      "UPDATE group_duration" LESS " AND kind = ?2 AND step = ?5"};
    const int64_t ms = row->duration_ms, day = row->started_ms / DAY_MS;
    return run(s, sql[0], "sssi", old, "", "", ms, 0) && run(s, sql[1], "sssii", old, "", "", ms, day) &&
           run(s, sql[2], "sssi", old, row->app, row->version, ms, 0) &&
           run(s, sql[3], "sssi", old, row->system, "", ms, 0) &&
           run(s, sql[4], "sssii", old, row->kind, "", ms, step_of(ms));
}

bool sqlite_add_sums(struct sqlite *s, const struct row *row) {
    const int64_t day = row->started_ms / DAY_MS, hangs = row->is_hang ? 1 : 0,
                  runs = row->is_session ? 1 : 0;
    const int64_t hung_ms = row->is_hang ? row->duration_ms : 0, used_ms = row->is_session ? row->used_ms : 0;
    return (!row->grouped || sqlite_add_group_sums(s, row)) &&
           sqlite_add_sum(s, ADD_APP_DAY, "sisii", row->app, day, row->kind,
                          row->is_session ? used_ms : row->duration_ms,
                          (int64_t)(row->is_session && row->hang_free)) &&
           sqlite_add_sum(s, ADD_VERSION_DAY, "ssiiii", row->app, row->version, day, hangs, hung_ms,
                          used_ms) &&
           sqlite_add_sum(s, ADD_APP_VERSION, "ssiiiii", row->app, row->version, hangs, hung_ms, runs,
                          used_ms, row->started_ms);
}
