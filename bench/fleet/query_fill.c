/* SPDX-License-Identifier: MIT */
#include "fleet/query_fill.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define REPORT_COLUMNS 19
#define DAY_MS INT64_C(86400000)
#define HOUR_MS INT64_C(3600000)
#define DAYS (QUERY_DAYS + 2)
#define SYSTEMS 24
#define STEPS 16
#define KINDS 5
#define INDEXES_MAX 16

/* The load's groups have no family: nothing compares them. */
#define GROUPED                                                                                               \
    "grouped(fingerprint, rule, app, function, place, cause, by_owner, path, count, total_ms, max_ms, users," \
    " first_ms, last_ms, kind)"

struct sum {
    int64_t count, ms, first_ms, last_ms, runs, used_ms; /* not all of each */
};

struct sums {
    struct sum group[QUERY_BUGS], day[QUERY_BUGS][DAYS], version[QUERY_BUGS][QUERY_VERSIONS];
    struct sum system[QUERY_BUGS][SYSTEMS], step[QUERY_BUGS][KINDS][STEPS];
    struct sum app_day[QUERY_APPS][DAYS][KINDS], version_day[QUERY_APPS][QUERY_VERSIONS][DAYS];
    struct sum app_version[QUERY_APPS][QUERY_VERSIONS];
    int64_t first_day;
};

struct filler {
    sqlite3 *db;
    sqlite3_stmt *report;
    struct sums *sums;
    uint64_t *users; /* bug and user of each hang */
    size_t hangs;
    char indexes[INDEXES_MAX][512];
    int index_count;
    struct query_load *load;
};

static int say(const struct filler *f) {
    fprintf(stderr, "hangdog-bench: %s\n", sqlite3_errmsg(f->db));
    return -1;
}

static int run(const struct filler *f, const char *sql) {
    return sqlite3_exec(f->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : say(f);
}

static void add(struct sum *s, int64_t ms, int64_t at_ms) {
    s->first_ms = s->last_ms == 0 || at_ms < s->first_ms ? at_ms : s->first_ms;
    s->last_ms = at_ms > s->last_ms ? at_ms : s->last_ms;
    s->count++;
    s->ms += ms;
}

static int64_t step_of(int64_t ms) {
    return ms < 2 ? 0 : 63 - __builtin_clzll((unsigned long long)ms);
}

static void add_sums(struct filler *f, const struct query_choice *c, const struct row *r) {
    struct sums *s = f->sums;
    int64_t day = r->started_ms / DAY_MS - s->first_day, at = r->started_ms;
    struct sum *version = &s->app_version[c->app][c->version];
    struct sum *of_day = &s->version_day[c->app][c->version][day];
    add(&s->app_day[c->app][day][c->kind], r->is_session ? r->used_ms : r->duration_ms, at);
    s->app_day[c->app][day][c->kind].runs += r->hang_free;
    of_day->last_ms = at;
    of_day->used_ms += r->used_ms;
    if (!r->is_hang) {
        version->first_ms = version->last_ms == 0 ? at : version->first_ms;
        version->last_ms = at;
        version->runs += r->is_session;
        version->used_ms += r->used_ms;
        return;
    }
    add(version, r->duration_ms, at);
    add(of_day, r->duration_ms, at);
    add(&s->group[c->bug], r->duration_ms, at);
    s->group[c->bug].used_ms =
        r->duration_ms > s->group[c->bug].used_ms ? r->duration_ms : s->group[c->bug].used_ms;
    add(&s->day[c->bug][day], r->duration_ms, at);
    add(&s->version[c->bug][c->version], r->duration_ms, at);
    add(&s->system[c->bug][c->system], r->duration_ms, at);
    add(&s->step[c->bug][c->kind][step_of(r->duration_ms)], r->duration_ms, at);
    f->users[f->hangs++] = (uint64_t)c->bug << 32 | c->user;
}

static int add_report(struct filler *f, const struct row *r) {
    sqlite3_stmt *q = f->report;
    const char *const texts[] = {r->id,
                                 r->grouped ? r->group.fingerprint : NULL,
                                 r->app,
                                 r->version,
                                 r->system,
                                 r->kind,
                                 r->cause,
                                 r->session,
                                 r->own_fingerprint};
    for (int i = 0; i < 9; i++) {
        sqlite3_bind_text(q, i + 1, texts[i], -1, SQLITE_STATIC);
    }
    sqlite3_bind_int(q, 10, 0);
    sqlite3_bind_int64(q, 11, r->started_ms);
    sqlite3_bind_int64(q, 12, r->duration_ms);
    sqlite3_bind_int64(q, 13, r->started_ms);
    sqlite3_bind_blob64(q, 14, r->body, r->body_bytes, SQLITE_STATIC);
    for (int i = 15; i <= REPORT_COLUMNS; i++) { /* neither a label nor a place */
        sqlite3_bind_text(q, i, "", -1, SQLITE_STATIC);
    }
    return sqlite3_step(q) == SQLITE_DONE && sqlite3_reset(q) == SQLITE_OK ? 0 : say(f);
}

/* The reports' indexes are left out until all reports are in. */
static int drop_indexes(struct filler *f) {
    char drop[INDEXES_MAX][128];
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(f->db,
                           "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'report'"
                           " AND sql IS NOT NULL",
                           -1, &q, NULL) != SQLITE_OK) {
        return say(f);
    }
    while (f->index_count < INDEXES_MAX && sqlite3_step(q) == SQLITE_ROW) {
        snprintf(drop[f->index_count], sizeof drop[0], "DROP INDEX %s",
                 (const char *)sqlite3_column_text(q, 0));
        snprintf(f->indexes[f->index_count], sizeof f->indexes[0], "%s",
                 (const char *)sqlite3_column_text(q, 1));
        f->index_count++;
    }
    sqlite3_finalize(q);
    for (int i = 0; i < f->index_count; i++) {
        if (run(f, drop[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* One row; `types` has an s for each text and an i for each number. */
static int put(struct filler *f, sqlite3_stmt *q, const char *const *texts, const int64_t *numbers,
               const char *types) {
    for (int i = 0; types[i] != '\0'; i++) {
        if (types[i] == 's') {
            sqlite3_bind_text(q, i + 1, *texts++, -1, SQLITE_TRANSIENT);
        } else {
            sqlite3_bind_int64(q, i + 1, *numbers++);
        }
    }
    return sqlite3_step(q) == SQLITE_DONE && sqlite3_reset(q) == SQLITE_OK ? 0 : say(f);
}

static sqlite3_stmt *insert(struct filler *f, const char *table, int columns) {
    char sql[384];
    sqlite3_stmt *q = NULL;
    int n = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(", table);
    for (int i = 0; i < columns; i++) {
        n += snprintf(sql + n, sizeof sql - (size_t)n, "%s?", i > 0 ? "," : "");
    }
    snprintf(sql + n, sizeof sql - (size_t)n, ")");
    if (sqlite3_prepare_v2(f->db, sql, -1, &q, NULL) != SQLITE_OK) {
        say(f);
    }
    return q;
}

static int put_group(struct filler *f, sqlite3_stmt *q, unsigned bug, int64_t users) {
    const struct row *r = query_load_bug(f->load, bug);
    const struct sum *s = &f->sums->group[bug];
    const char *const texts[] = {r->group.fingerprint, r->app, r->group.function, r->group.place, r->cause,
                                 r->group.path,        "hang"};
    const int64_t numbers[] = {GROUPING_VERSION, 0,     s->count,    s->ms,
                               s->used_ms,       users, s->first_ms, s->last_ms};
    return s->count == 0 ? 0 : put(f, q, texts, numbers, "sissssisiiiiiis");
}

static int put_of_group(struct filler *f, sqlite3_stmt *const q[4], unsigned bug) {
    const struct row *r = query_load_bug(f->load, bug);
    const char *fingerprint = r->group.fingerprint;
    const struct sums *s = f->sums;
    char version[32], system[160];
    int failed = 0;
    for (unsigned i = 0; i < DAYS; i++) {
        const struct sum *of = &s->day[bug][i];
        const int64_t numbers[] = {s->first_day + i, of->count, of->ms};
        failed |= of->count > 0 ? put(f, q[0], &fingerprint, numbers, "siii") : 0;
    }
    for (unsigned i = 0; i < QUERY_VERSIONS; i++) {
        const struct sum *of = &s->version[bug][i];
        const char *const texts[] = {r->app, query_load_version(i, version), fingerprint};
        const int64_t numbers[] = {of->count, of->ms, of->first_ms, of->last_ms};
        failed |= of->count > 0 ? put(f, q[1], texts, numbers, "sssiiii") : 0;
    }
    for (unsigned i = 0; i < SYSTEMS; i++) {
        const struct sum *of = &s->system[bug][i];
        const char *const texts[] = {fingerprint, query_load_system(i, system)};
        const int64_t numbers[] = {of->count, of->ms};
        failed |= of->count > 0 ? put(f, q[2], texts, numbers, "ssii") : 0;
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (unsigned i = 0; i < STEPS; i++) {
            const struct sum *of = &s->step[bug][kind][i];
            const char *const texts[] = {fingerprint, query_load_kinds[kind]};
            const int64_t numbers[] = {i, of->count, of->ms};
            failed |= of->count > 0 ? put(f, q[3], texts, numbers, "ssiii") : 0;
        }
    }
    return failed;
}

static int compare(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* The users of each bug, and its row. */
static int put_groups(struct filler *f) {
    sqlite3_stmt *user = insert(f, "user", 2), *group = insert(f, GROUPED, 15);
    sqlite3_stmt *const of[] = {insert(f, "group_day", 4), insert(f, "group_version", 7),
                                insert(f, "group_system", 4), insert(f, "group_duration", 5)};
    size_t at = 0;
    int failed =
        user == NULL || group == NULL || of[0] == NULL || of[1] == NULL || of[2] == NULL || of[3] == NULL;
    qsort(f->users, f->hangs, sizeof *f->users, compare);
    for (unsigned bug = 0; failed == 0 && bug < QUERY_BUGS; bug++) {
        int64_t users = 0;
        char who[64];
        for (; at < f->hangs && f->users[at] >> 32 == bug; at++) {
            if (at > 0 && f->users[at] == f->users[at - 1]) {
                continue;
            }
            const char *const texts[] = {query_load_bug(f->load, bug)->group.fingerprint,
                                         query_load_user((unsigned)f->users[at], who)};
            failed |= put(f, user, texts, NULL, "ss");
            users++;
        }
        failed |= put_group(f, group, bug, users) | put_of_group(f, of, bug);
    }
    sqlite3_finalize(user);
    sqlite3_finalize(group);
    for (int i = 0; i < 4; i++) {
        sqlite3_finalize(of[i]);
    }
    return failed;
}

static int put_versions(struct filler *f, unsigned app, const char *name) {
    sqlite3_stmt *day = insert(f, "version_day", 6), *version = insert(f, "app_version", 8);
    char text[32];
    int failed = day == NULL || version == NULL;
    for (unsigned v = 0; failed == 0 && v < QUERY_VERSIONS; v++) {
        const struct sum *s = &f->sums->app_version[app][v];
        const char *const texts[] = {name, query_load_version(v, text)};
        const int64_t numbers[] = {s->count, s->ms, s->runs, s->used_ms, s->first_ms, s->last_ms};
        failed |= s->last_ms > 0 ? put(f, version, texts, numbers, "ssiiiiii") : 0;
        for (unsigned i = 0; i < DAYS; i++) {
            s = &f->sums->version_day[app][v][i];
            const int64_t values[] = {f->sums->first_day + i, s->count, s->ms, s->used_ms};
            failed |= s->last_ms > 0 ? put(f, day, texts, values, "ssiiii") : 0;
        }
    }
    sqlite3_finalize(day);
    sqlite3_finalize(version);
    return failed;
}

static int put_apps(struct filler *f) {
    sqlite3_stmt *day = insert(f, "app_day", 6);
    char app[32];
    int failed = day == NULL;
    for (unsigned a = 0; failed == 0 && a < QUERY_APPS; a++) {
        failed |= put_versions(f, a, query_load_app(a, app));
        for (unsigned i = 0; i < DAYS * KINDS; i++) {
            const struct sum *s = &f->sums->app_day[a][i / KINDS][i % KINDS];
            const char *const of[] = {app, query_load_kinds[i % KINDS]};
            const int64_t values[] = {f->sums->first_day + i / KINDS, s->count, s->ms, s->runs};
            failed |= s->count > 0 ? put(f, day, of, values, "sisiii") : 0;
        }
    }
    sqlite3_finalize(day);
    return failed;
}

static int put_reports(struct filler *f, uint64_t reports) {
    struct row *row = malloc(sizeof *row);
    int failed = row == NULL;
    f->report = insert(f, "report", REPORT_COLUMNS);
    failed |= f->report == NULL;
    for (uint64_t i = 0; failed == 0 && i < reports; i++) {
        struct query_choice choice;
        query_load_next(f->load, row, &choice);
        if (i == 0) {
            f->sums->first_day = row->started_ms / DAY_MS;
        }
        add_sums(f, &choice, row);
        failed = add_report(f, row);
    }
    sqlite3_finalize(f->report);
    free(row);
    return failed;
}

int query_fill(const char *path, struct query_load *load, uint64_t reports) {
    struct filler f = {.load = load};
    f.sums = calloc(1, sizeof *f.sums);
    f.users = calloc(reports, sizeof *f.users);
    int failed = f.sums == NULL || f.users == NULL || sqlite3_open(path, &f.db) != SQLITE_OK;
    if (failed == 0) {
        /* It is a copy that may be made again: what a crash would cost does not matter here. */
        failed = run(
            &f, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN");
        failed = failed || drop_indexes(&f) || put_reports(&f, reports) || put_groups(&f) || put_apps(&f);
        for (int i = 0; failed == 0 && i < f.index_count; i++) {
            failed = run(&f, f.indexes[i]);
        }
        failed = failed || run(&f, "COMMIT; PRAGMA journal_mode = WAL");
    }
    sqlite3_close(f.db);
    free(f.users);
    free(f.sums);
    return failed == 0 ? 0 : -1;
}
