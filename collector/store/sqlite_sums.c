/* SPDX-License-Identifier: MIT
 *
 * The sums that pages read in place of reports. Runs on the writer's thread.
 */
#include "collector/store/sqlite_private.h"

/* A report has 2^step ms or more, and less than twice of it. */
static int64_t step_of(int64_t ms) {
    return ms < 2 ? 0 : 63 - __builtin_clzll((unsigned long long)ms);
}

static bool add_to_group(struct sqlite *s, const struct row *row) {
    const char *fingerprint = row->group.fingerprint;
    const int64_t day = row->started_ms / DAY_MS, ms = row->duration_ms;
    return sqlite_add_sum(s, ADD_GROUP_DAY, "sii", fingerprint, day, ms) &&
           sqlite_add_sum(s, ADD_GROUP_VERSION, "sssii", row->app, row->version, fingerprint, ms,
                          row->started_ms) &&
           sqlite_add_sum(s, ADD_GROUP_SYSTEM, "ssi", fingerprint, row->system, ms) &&
           sqlite_add_sum(s, ADD_GROUP_DURATION, "ssii", fingerprint, row->kind, step_of(ms), ms);
}

bool sqlite_add_sums(struct sqlite *s, const struct row *row) {
    const int64_t hangs = row->is_hang ? 1 : 0, runs = row->is_session ? 1 : 0;
    const int64_t hung_ms = row->is_hang ? row->duration_ms : 0, used_ms = row->is_session ? row->used_ms : 0;
    return (!row->grouped || add_to_group(s, row)) &&
           sqlite_add_sum(s, ADD_APP_DAY, "sissii", row->app, row->started_ms / DAY_MS, row->version,
                          row->kind, row->is_session ? used_ms : row->duration_ms,
                          (int64_t)(row->is_session && row->hang_free)) &&
           sqlite_add_sum(s, ADD_APP_VERSION, "ssiiiii", row->app, row->version, hangs, hung_ms, runs,
                          used_ms, row->started_ms);
}
