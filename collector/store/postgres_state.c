/* SPDX-License-Identifier: MIT */
#include "collector/store/postgres_state.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRY_AGAIN_S 2 /* a lost server is not asked by each request of a page */
/* One second more than the server's own limit: a server that is stopped keeps no limit. */
#define OPTIONS "-c statement_timeout=5000 -c client_min_messages=warning"
#define ANSWER_S 6
#define VALUES_MAX 6
#define NUMBER_BYTES 24

struct postgres {
    pthread_mutex_t lock; /* of all below */
    PGconn *connection;
    time_t lost_at; /* monotonic; 0: it is not lost. libpq does not know all of it. */
};

/* As in sqlite_tables.c: an older step is never edited. One collector at a time applies them. */
static const char *const steps[] = {
    "CREATE TABLE hangdog_key(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, use integer NOT NULL,"
    " hash bytea NOT NULL UNIQUE, app text NOT NULL, made_ms bigint NOT NULL, last_used_ms bigint NOT NULL,"
    " day bigint NOT NULL, day_reports bigint NOT NULL);"
    "CREATE TABLE hangdog_issue(fingerprint text PRIMARY KEY, state text NOT NULL, note text NOT NULL,"
    " resolved_in text NOT NULL, resolved_ms bigint NOT NULL, resolved_count bigint NOT NULL)"};
#define STEPS ((int)(sizeof steps / sizeof steps[0]))
#define ONE_AT_A_TIME "SELECT pg_advisory_xact_lock(8437)"
#define SETTING_TABLE "CREATE TABLE IF NOT EXISTS hangdog_setting(name text PRIMARY KEY, value text NOT NULL)"

static time_t now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static bool is_done(PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* Connects again where the connection was lost. The caller has the lock. */
static bool is_connected(struct postgres *p) {
    if (p->lost_at == 0 && PQstatus(p->connection) == CONNECTION_OK) {
        return true;
    }
    if (p->lost_at != 0 && now_s() - p->lost_at < TRY_AGAIN_S) {
        return false;
    }
    PQreset(p->connection);
    p->lost_at = PQstatus(p->connection) == CONNECTION_OK ? 0 : now_s();
    return p->lost_at == 0;
}

/* Until the connection has a whole answer, or is broken. False: the time is over. */
static bool await_answer(PGconn *connection, time_t end) {
    while (PQisBusy(connection) && PQsocket(connection) >= 0) {
        struct pollfd socket = {.fd = PQsocket(connection), .events = POLLIN};
        time_t left = end - now_s();
        if (left <= 0 || (poll(&socket, 1, (int)left * 1000) < 0 && errno != EINTR)) {
            return false;
        }
        if (socket.revents != 0 && !PQconsumeInput(connection)) {
            return true; /* PQgetResult says what it is */
        }
    }
    return true;
}

/* As PQexecParams, which would wait for good: the writer and all pages would wait for it. */
static PGresult *run_with(struct postgres *p, const char *sql, int count, const char *const *values) {
    const time_t end = now_s() + ANSWER_S;
    PGresult *result = NULL, *next = NULL;
    if (!PQsendQueryParams(p->connection, sql, count, NULL, values, NULL, NULL, 0)) {
        return NULL;
    }
    do {
        PQclear(result);
        result = next;
        if (!await_answer(p->connection, end)) {
            PQclear(result);
            p->lost_at = now_s();
            return NULL;
        }
        next = PQgetResult(p->connection);
    } while (next != NULL);
    return result;
}

/* Runs a statement with its values; the caller calls PQclear. A server that was started again is seen by the
 * statement that fails: it is sent a second time. */
static PGresult *ask(struct postgres *p, const char *sql, int count, const char *const *values) {
    PGresult *result = NULL;
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < 2 && is_connected(p); i++) {
        PQclear(result);
        result = run_with(p, sql, count, values);
        if (is_done(result) || PQstatus(p->connection) == CONNECTION_OK) {
            break;
        }
    }
    pthread_mutex_unlock(&p->lock);
    return result;
}

/* How many rows a statement changed; -1: it failed. */
static long change(struct postgres *p, const char *sql, int count, const char *const *values) {
    PGresult *result = ask(p, sql, count, values);
    long changed = is_done(result) ? strtol(PQcmdTuples(result), NULL, 10) : -1;
    PQclear(result);
    return changed;
}

static int64_t number_at(const PGresult *result, int row, int column) {
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

static const char *number_text(char text[NUMBER_BYTES], int64_t number) {
    snprintf(text, NUMBER_BYTES, "%lld", (long long)number);
    return text;
}

static void copy_text(char *to, size_t size, const PGresult *result, int column) {
    snprintf(to, size, "%s", PQgetvalue(result, 0, column));
}

/* ---- tables ---- */

static bool run(PGconn *connection, const char *sql) {
    PGresult *result = PQexec(connection, sql);
    bool done = is_done(result);
    PQclear(result);
    return done;
}

static int version_of(PGconn *connection) {
    PGresult *result = PQexec(connection, "SELECT value FROM hangdog_setting WHERE name = 'version'");
    int version = !is_done(result) ? -1 : PQntuples(result) == 0 ? 0 : (int)number_at(result, 0, 0);
    PQclear(result);
    return version;
}

static bool set_version(PGconn *connection) {
    char sql[256];
    snprintf(sql, sizeof sql,
             "INSERT INTO hangdog_setting VALUES('version', '%d') ON CONFLICT(name) DO UPDATE SET value ="
             " excluded.value",
             STEPS);
    return run(connection, sql);
}

static bool renew_tables(PGconn *connection, struct problem *why) {
    bool done = run(connection, "BEGIN ISOLATION LEVEL READ COMMITTED") && run(connection, ONE_AT_A_TIME) &&
                run(connection, SETTING_TABLE);
    int version = done ? version_of(connection) : -1;
    if (version > STEPS) {
        error_set(why, "cannot use the keys in PostgreSQL: they have version %d, and this hangdog knows %d",
                  version, STEPS);
        return false;
    }
    done = done && version >= 0;
    for (int step = version; done && step < STEPS; step++) {
        done = run(connection, steps[step]);
    }
    return done && (version == STEPS || set_version(connection)) && run(connection, "COMMIT");
}

/* libpq's text has parts of a URL that it read wrongly. Such a part may be one of the password. */
static bool is_read_well(const char *url) {
    char *error = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &error);
    const char *user = strstr(url, "://"), *host = strrchr(url, '@');
    size_t bytes = user != NULL && host != NULL ? strcspn(user + 3, "/@") : 0;
    bool well = options != NULL && (host == NULL || (user != NULL && user + 3 + bytes == host));
    PQconninfoFree(options);
    PQfreemem(error);
    return well;
}

/* libpq ends its texts with a line feed. */
static void set_error(struct problem *why, const char *url, const PGconn *connection) {
    const char *text = PQerrorMessage(connection);
    if (!is_read_well(url)) {
        error_set(why,
                  "cannot use PostgreSQL for the keys: the URL is wrong; in a name or a password write / as"
                  " %%2F, @ as %%40 and %% as %%25");
        return;
    }
    error_set(why, "cannot use PostgreSQL for the keys: %.*s", (int)strcspn(text, "\n"), text);
    error_try(why, "psql with the same URL");
}

static void postgres_close(void *at) {
    struct postgres *p = at;
    PQfinish(p->connection);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void *postgres_state_open(const char *url, struct problem *why) {
    /* The URL comes last, and its values override the others. */
    static const char *const names[] = {"connect_timeout", "tcp_user_timeout", "application_name",
                                        "options",         "dbname",           NULL};
    const char *const values[] = {"5", "5000", "hangdog-serve", OPTIONS, url, NULL};
    struct postgres *p = calloc(1, sizeof *p);
    if (p == NULL) {
        error_set(why, "cannot use PostgreSQL for the keys: out of memory");
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    p->connection = PQconnectdbParams(names, values, 1);
    why->text[0] = '\0';
    if (PQstatus(p->connection) != CONNECTION_OK || !renew_tables(p->connection, why)) {
        if (why->text[0] == '\0') {
            set_error(why, url, p->connection);
        }
        postgres_close(p);
        return NULL;
    }
    return p;
}

/* ---- keys ---- */

static bool read_hash(const char *hex, uint8_t hash[SHA256_BYTES]) {
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i] != '\0' ? hex[2 * i + 1] : '\0', '\0'};
        char *end;
        hash[i] = (uint8_t)strtoul(digits, &end, 16);
        if (end != digits + 2) {
            return false;
        }
    }
    return hex[2 * SHA256_BYTES] == '\0';
}

static bool read_key(const PGresult *result, int row, struct store_key *key) {
    int64_t use = number_at(result, row, 1);
    memset(key, 0, sizeof *key);
    key->id = number_at(result, row, 0);
    key->use = (enum key_use)use;
    snprintf(key->app, sizeof key->app, "%s", PQgetvalue(result, row, 3));
    key->made_ms = number_at(result, row, 4);
    key->last_used_ms = number_at(result, row, 5);
    key->day = number_at(result, row, 6);
    key->day_reports = number_at(result, row, 7);
    return use >= 0 && use < KEY_USES && read_hash(PQgetvalue(result, row, 2), key->hash);
}

static int get_keys(void *at, struct store_key *keys, int max) {
    PGresult *result = ask(at,
                           "SELECT id, use, encode(hash, 'hex'), app, made_ms, last_used_ms, day, day_reports"
                           " FROM hangdog_key ORDER BY id",
                           0, NULL);
    int count = is_done(result) ? 0 : -1;
    for (int i = 0; count >= 0 && count < max && i < PQntuples(result); i++) {
        count += read_key(result, i, &keys[count]);
    }
    PQclear(result);
    return count;
}

static int64_t add_key(void *at, enum key_use use, const char *app, const uint8_t hash[SHA256_BYTES]) {
    char use_text[NUMBER_BYTES], made[NUMBER_BYTES], hex[2 * SHA256_BYTES + 1];
    sha256_hex(hash, SHA256_BYTES, hex);
    const char *const values[] = {number_text(use_text, (int64_t)use), hex, app,
                                  number_text(made, (int64_t)time(NULL) * 1000)};
    PGresult *result = ask(at,
                           "INSERT INTO hangdog_key(use, hash, app, made_ms, last_used_ms, day, day_reports)"
                           " VALUES($1, decode($2, 'hex'), $3, $4, 0, 0, 0)"
                           " ON CONFLICT(hash) DO UPDATE SET app = excluded.app RETURNING id",
                           4, values);
    int64_t id = is_done(result) && PQntuples(result) == 1 ? number_at(result, 0, 0) : -1;
    PQclear(result);
    return id;
}

static enum store_found remove_key(void *at, int64_t id) {
    char text[NUMBER_BYTES];
    const char *const values[] = {number_text(text, id)};
    long removed = change(at, "DELETE FROM hangdog_key WHERE id = $1", 1, values);
    return removed < 0 ? STORE_UNREAD : removed == 1 ? STORE_FOUND : STORE_NONE;
}

static bool count_key(void *at, int64_t id, int64_t used_ms, int64_t day, int64_t reports) {
    char text[4][NUMBER_BYTES];
    const char *const values[] = {number_text(text[0], id), number_text(text[1], used_ms),
                                  number_text(text[2], day), number_text(text[3], reports)};
    return change(at,
                  "UPDATE hangdog_key SET last_used_ms = greatest(last_used_ms, $2), day = $3, day_reports ="
                  " CASE WHEN day = $3 THEN day_reports + $4 ELSE $4 END WHERE id = $1",
                  4, values) >= 0;
}

/* ---- settings and issues ---- */

static enum store_found found_of(PGresult *result) {
    return !is_done(result) ? STORE_UNREAD : PQntuples(result) == 1 ? STORE_FOUND : STORE_NONE;
}

static enum store_found setting_get(void *at, const char *name, char value[STORE_SETTING_BYTES]) {
    PGresult *result = ask(at, "SELECT value FROM hangdog_setting WHERE name = $1", 1, &name);
    enum store_found found = found_of(result);
    if (found == STORE_FOUND) {
        copy_text(value, STORE_SETTING_BYTES, result, 0);
    }
    PQclear(result);
    return found;
}

static bool setting_set(void *at, const char *name, const char *value) {
    const char *const values[] = {name, value};
    return change(at,
                  "INSERT INTO hangdog_setting VALUES($1, $2) ON CONFLICT(name) DO UPDATE SET value ="
                  " excluded.value",
                  2, values) == 1;
}

static enum store_found issue_get(void *at, const char *fingerprint, struct store_issue *issue) {
    PGresult *result = ask(at,
                           "SELECT state, note, resolved_in, resolved_ms, resolved_count FROM hangdog_issue"
                           " WHERE fingerprint = $1",
                           1, &fingerprint);
    enum store_found found = found_of(result);
    if (found == STORE_FOUND) {
        copy_text(issue->state, sizeof issue->state, result, 0);
        copy_text(issue->note, sizeof issue->note, result, 1);
        copy_text(issue->resolved_in, sizeof issue->resolved_in, result, 2);
        issue->resolved_ms = number_at(result, 0, 3);
        issue->resolved_count = number_at(result, 0, 4);
    }
    PQclear(result);
    return found;
}

static bool issue_set(void *at, const char *fingerprint, const struct store_issue *issue) {
    char ms[NUMBER_BYTES], count[NUMBER_BYTES];
    const char *const values[VALUES_MAX] = {fingerprint,
                                            issue->state,
                                            issue->note,
                                            issue->resolved_in,
                                            number_text(ms, issue->resolved_ms),
                                            number_text(count, issue->resolved_count)};
    return change(at,
                  "INSERT INTO hangdog_issue VALUES($1, $2, $3, $4, $5, $6) ON CONFLICT(fingerprint) DO"
                  " UPDATE SET state = excluded.state, note = excluded.note, resolved_in ="
                  " excluded.resolved_in, resolved_ms = excluded.resolved_ms, resolved_count ="
                  " excluded.resolved_count",
                  VALUES_MAX, values) == 1;
}

static bool marks(void *at, void (*take)(void *to, const struct store_mark *mark), void *to) {
    PGresult *result = ask(at,
                           "SELECT fingerprint, state, resolved_in, resolved_ms, resolved_count FROM"
                           " hangdog_issue WHERE state <> 'open'",
                           0, NULL);
    bool done = is_done(result);
    for (int i = 0; done && i < PQntuples(result); i++) {
        struct store_mark mark = {.resolved_ms = number_at(result, i, 3),
                                  .resolved_count = number_at(result, i, 4)};
        snprintf(mark.fingerprint, sizeof mark.fingerprint, "%s", PQgetvalue(result, i, 0));
        snprintf(mark.state, sizeof mark.state, "%s", PQgetvalue(result, i, 1));
        snprintf(mark.resolved_in, sizeof mark.resolved_in, "%s", PQgetvalue(result, i, 2));
        take(to, &mark);
    }
    PQclear(result);
    return done;
}

const struct state_backend postgres_state = {
    .close = postgres_close,
    .keys = get_keys,
    .add_key = add_key,
    .remove_key = remove_key,
    .count_key = count_key,
    .setting_get = setting_get,
    .setting_set = setting_set,
    .issue_get = issue_get,
    .issue_set = issue_set,
    .marks = marks,
};
