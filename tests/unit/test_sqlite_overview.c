/* SPDX-License-Identifier: MIT
 *
 * The overview reads sums and looks at few groups: its answer is held to one that is added up from random
 * reports, also after some were replaced, grouped again and removed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <time.h>

#include "chance.h"
#include "store_in_folder.h"

#define REPORTS 2000
#define BATCH 100
#define APPS 3
#define VERSIONS 20
#define BUGS 150 /* of each app: in all more than a page shows */
#define DAYS 80
#define DAY_S 86400
#define HANGS "('hang', 'launch', 'background-hang', 'fatal-hang')"

static time_t begun; /* of the first report */

/* A report of a random kind, app, version and bug, which follow from its number. */
static void make(const struct store_in_folder *p, struct row *row, unsigned number, const char *function) {
    static const char *const kinds[] = {"hang", "hang",       "hang",  "hang", "hang",
                                        "hang", "fatal-hang", "crash", "cpu",  "session"};
    seed = (number + 1) * UINT64_C(88172645463325252);
    any(1), any(1); /* near seeds have near first numbers */
    const char *kind = kinds[any(10)];
    char text[2048], when[64];
    struct schema_fault fault;
    struct tm tm;
    const time_t at = begun + (time_t)DAYS * DAY_S / REPORTS * number;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
    int bytes = snprintf(
        text, sizeof text,
        "{\"format\":\"hangdog-report/1\",\"id\":\"00000000-0000-7000-8000-%012u\",\"kind\":\"%s\","
        "\"complete\":true,\"started_at\":\"%s\",\"duration_ns\":%u000000,"
        "\"app\":{\"name\":\"app-%u\",\"version\":\"%u\",\"pid\":7,\"install\":\"user-%u\"},"
        "\"host\":{\"os\":\"linux\",\"arch\":\"x86_64\"},\"process\":{},\"cause\":{\"kind\":\"cpu\"},"
        "\"modules\":[{\"path\":\"/opt/shop\",\"base\":\"0x1000\",\"size\":4096}],"
        "\"hot_stack\":{\"frames\":[{\"pc\":\"0x1010\",\"module\":0,\"function\":\"%s_%u\"}]}",
        number, kind, when, 250 + any(20000), any(APPS), any(VERSIONS), any(50), function,
        any(any(BUGS) + 1));
    bytes += strcmp(kind, "session") == 0
                 ? snprintf(text + bytes, sizeof text - (size_t)bytes,
                            ",\"session\":{\"used_ns\":%u000000,\"hangs\":%u}}", any(3600000), any(2))
                 : snprintf(text + bytes, sizeof text - (size_t)bytes, "}");
    if (!row_make(text, (size_t)bytes, p->schema, row, &fault)) {
        fail_msg("%s %s", fault.at, fault.reason);
    }
}

/* They come in the order in which they began. `used` has what the table of reports lacks. */
static void add_reports(const struct store_in_folder *p, sqlite3 *truth) {
    struct row *rows = calloc(BATCH, sizeof *rows), *of[BATCH];
    assert_non_null(rows);
    begun = time(NULL) - (time_t)DAYS * DAY_S;
    for (unsigned i = 0; i < REPORTS; i++) {
        struct row *row = of[i % BATCH] = &rows[i % BATCH];
        make(p, row, i, "work");
        char *sql = sqlite3_mprintf("INSERT INTO used VALUES(%Q, %lld, %d)", row->id, (long long)row->used_ms,
                                    row->hang_free);
        assert_int_equal(sqlite3_exec(truth, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_free(sql);
        if (i % BATCH == BATCH - 1) {
            assert_int_equal(store_add(p->store, of, BATCH), STORE_DONE);
            for (unsigned n = 0; n < BATCH; n++) {
                row_free(of[n]);
            }
        }
    }
    free(rows);
}

/* ---- what the reports say ------------------------------------------------------------------- */

static char *finish(sqlite3_str *all) {
    char *text = sqlite3_str_finish(all);
    return text != NULL ? text : sqlite3_mprintf(""); /* it was empty */
}

/* The rows as text, one a line, their values by "|". */
static char *ask(sqlite3 *truth, const char *sql, const char *app, int64_t day) {
    sqlite3_str *all = sqlite3_str_new(NULL);
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_prepare_v2(truth, sql, -1, &q, NULL), SQLITE_OK);
    sqlite3_bind_text(q, 1, app, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 2, day);
    while (sqlite3_step(q) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(q); i++) {
            sqlite3_str_appendf(all, "%s%s", i > 0 ? "|" : "", sqlite3_column_text(q, i));
        }
        sqlite3_str_appendchar(all, 1, '\n');
    }
    sqlite3_finalize(q);
    return finish(all);
}

/* The members of each row of an answer, in the same form. */
static char *text_of(const json_t *rows, const char *members) {
    sqlite3_str *all = sqlite3_str_new(NULL);
    const json_t *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        for (const char *m = members; *m != '\0'; m += strspn(m, " ")) {
            size_t bytes = strcspn(m, " ");
            const json_t *value = json_object_getn(row, m, bytes);
            const char *end = m[bytes] != '\0' ? "|" : "\n";
            if (json_is_string(value)) {
                sqlite3_str_appendf(all, "%s%s", json_string_value(value), end);
            } else {
                sqlite3_str_appendf(all, "%lld%s", (long long)json_integer_value(value), end);
            }
            m += bytes;
        }
    }
    return finish(all);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Of parts of an answer whose order says nothing. */
static char *sort_lines(char *text) {
    static char *line[20000];
    sqlite3_str *all = sqlite3_str_new(NULL);
    size_t count = 0;
    char *rest;
    for (char *at = strtok_r(text, "\n", &rest); at != NULL; at = strtok_r(NULL, "\n", &rest)) {
        assert_true(count < sizeof line / sizeof line[0]);
        line[count++] = at;
    }
    qsort(line, count, sizeof line[0], by_text);
    for (size_t i = 0; i < count; i++) {
        sqlite3_str_appendf(all, "%s\n", line[i]);
    }
    sqlite3_free(text);
    return finish(all);
}

static void same(char *answer, char *truth, const char *what, const char *app, int days) {
    size_t at = 0, line = 0;
    for (; answer[at] == truth[at] && answer[at] != '\0'; at++) {
        line = answer[at] == '\n' ? at + 1 : line;
    }
    if (answer[at] != truth[at]) {
        fail_msg("%s of app '%s' in %d days: '%.*s', and by the reports '%.*s'", what, app, days,
                 (int)strcspn(answer + line, "\n"), answer + line, (int)strcspn(truth + line, "\n"),
                 truth + line);
    }
    sqlite3_free(answer);
    sqlite3_free(truth);
}

#define OF_DAYS " WHERE (?1 = '' OR r.app = ?1) AND r.started_ms / 86400000 >= ?2"
#define HANG_SUMS \
    "sum(r.kind IN " HANGS ") AS count, sum(iif(r.kind IN " HANGS ", r.duration_ms, 0)) AS total_ms"
#define OF_VERSIONS                                                                                \
    "SELECT r.app, r.version, " HANG_SUMS ", sum(u.used_ms) AS used_ms FROM report r JOIN used u " \
    "USING(id)" OF_DAYS " GROUP BY 1, 2 ORDER BY 4 DESC, 1, 2"
#define OF_GROUPS                                                                                 \
    "SELECT r.grouped, count(*), sum(r.duration_ms) FROM report r JOIN grouped g ON r.grouped = " \
    "g.fingerprint" OF_DAYS " GROUP BY 1 ORDER BY g.kind = 'hang' DESC, 3 DESC, 2 DESC, g.rowid LIMIT 200"

#define STATE "coalesce((SELECT state FROM issue i WHERE i.fingerprint = g.fingerprint), 'open')"
#define REGRESSED                                                        \
    "(" STATE " = 'resolved' AND (SELECT resolved_ms FROM issue i WHERE" \
    " i.fingerprint = g.fingerprint) = 0)"

/* A page of groups, and their totals, held to what the reports say of those of which `wanted` is true. */
static void check_list(const struct store_in_folder *p, sqlite3 *truth, const struct store_group_filter *f,
                       const char *wanted) {
    static const char *const orders[] = {"3 DESC, 2 DESC, g.rowid", "2 DESC, 3 DESC, g.rowid",
                                         "g.users DESC, g.fingerprint", "g.last_ms DESC, g.fingerprint",
                                         "g.first_ms DESC, g.fingerprint"};
    const int64_t day = time(NULL) / DAY_S - f->days;
    json_t *page = store_groups(p->store, f), *totals = json_array();
    json_array_append(totals, json_object_get(page, "totals"));
    char *all = sqlite3_mprintf(
        "SELECT r.grouped, count(*) AS n, sum(r.duration_ms) AS ms FROM report r JOIN grouped g"
        " ON r.grouped = g.fingerprint" OF_DAYS " AND (g.kind = 'hang') = %d AND (%s) GROUP BY 1 ORDER BY %s",
        f->kinds != STORE_OTHERS, wanted, orders[f->order]);
    char *rows = sqlite3_mprintf("%s LIMIT 200 OFFSET %ld", all, f->offset);
    char *sums = sqlite3_mprintf("SELECT count(*), coalesce(sum(n), 0), coalesce(sum(ms), 0) FROM (%s)", all);
    char what[256];
    snprintf(what, sizeof what, "the groups (order %d, from %ld, '%s') with %s", (int)f->order, f->offset,
             f->state != NULL ? f->state : "", wanted);
    same(text_of(json_object_get(page, "groups"), "fingerprint count total_ms"),
         ask(truth, rows, f->app, day), what, f->app, f->days);
    same(text_of(totals, "groups count total_ms"), ask(truth, sums, f->app, day), "totals", f->app, f->days);
    sqlite3_free(all);
    sqlite3_free(rows);
    sqlite3_free(sums);
    json_decref(totals);
    json_decref(page);
}

static void check_lists(const struct store_in_folder *p, sqlite3 *truth, const char *app, int days) {
    struct store_group_filter f = {.app = app, .days = days, .kinds = STORE_HANGS};
    for (f.order = STORE_BY_TIME; f.order <= STORE_BY_FIRST; f.order++) {
        f.offset = f.order % 2 == 0 ? 0 : 100;
        check_list(p, truth, &f, "true");
    }
    f = (struct store_group_filter){.app = app, .days = days, .kinds = STORE_OTHERS};
    check_list(p, truth, &f, "true");
    f.kinds = STORE_HANGS;
    f.only_new = true;
    check_list(p, truth, &f, "g.first_ms >= (unixepoch() - 7 * 86400) * 1000");
}

static void check_states(const struct store_in_folder *p, sqlite3 *truth) {
    static const struct {
        const char *state, *wanted;
    } states[] = {{"", "true"},
                  {"open", STATE " = 'open' OR " REGRESSED},
                  {"resolved", STATE " = 'resolved'"},
                  {"ignored", STATE " = 'ignored'"}};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        char wanted[1024];
        struct store_group_filter f = {.app = "", .days = 30, .kinds = STORE_HANGS, .state = states[i].state};
        check_list(p, truth, &f, states[i].wanted);
        f.only_regressed = true;
        snprintf(wanted, sizeof wanted, "(%s) AND " REGRESSED, states[i].wanted);
        check_list(p, truth, &f, wanted);
        f.app = "app-1";
        f.only_regressed = false;
        f.order = STORE_BY_LAST;
        check_list(p, truth, &f, states[i].wanted);
    }
}

static void check_page(const struct store_in_folder *p, sqlite3 *truth, const char *app, int days) {
    const struct store_group_filter of = {.app = app, .days = days};
    json_t *page = store_overview(p->store, &of), *kinds = store_kinds(p->store, app, days);
    const int64_t day = time(NULL) / DAY_S - days;
    const struct {
        const char *member, *parts, *sql;
        bool any_order;
    } all[] = {
        {"groups", "fingerprint count total_ms", OF_GROUPS, false},
        {"days", "day fingerprint total_ms",
         "WITH t AS (" OF_GROUPS ") SELECT r.started_ms / 86400000, r.grouped, sum(r.duration_ms)"
         " FROM report r" OF_DAYS " AND r.grouped IN (SELECT grouped FROM t)"
         " AND r.started_ms / 86400000 >= unixepoch() / 86400 - 30 GROUP BY 1, 2 ORDER BY 1, 2",
         true},
        {"versions", "app version count total_ms used_ms",
         "SELECT * FROM (" OF_VERSIONS " LIMIT 50) ORDER BY app, total_ms DESC, version", false},
        {"series", "app version day count total_ms used_ms",
         "WITH t AS (" OF_VERSIONS " LIMIT 12) SELECT r.app, iif((r.app, r.version) IN (SELECT app, version"
         " FROM t), r.version, '') AS v, r.started_ms / 86400000, " HANG_SUMS
         ", sum(u.used_ms) AS used FROM report r JOIN used u USING(id)" OF_DAYS
         " GROUP BY 1, 2, 3 HAVING count + used > 0",
         true},
        {"used", "used_ms runs hang_free",
         "SELECT coalesce(sum(u.used_ms), 0), count(*), coalesce(sum(u.hang_free), 0) FROM report r JOIN used"
         " u USING(id)" OF_DAYS " AND r.kind = 'session'",
         false},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char *answer = text_of(json_object_get(page, all[i].member), all[i].parts);
        char *expected = ask(truth, all[i].sql, app, day);
        same(all[i].any_order ? sort_lines(answer) : answer,
             all[i].any_order ? sort_lines(expected) : expected, all[i].member, app, days);
    }
    same(text_of(kinds, "kind count total_ms"),
         ask(truth,
             "SELECT r.kind, count(*), sum(iif(r.kind = 'session', u.used_ms, r.duration_ms)) FROM report r"
             " JOIN used u USING(id)" OF_DAYS " GROUP BY 1 ORDER BY 1",
             app, day),
         "kinds", app, days);
    json_decref(kinds);
    json_decref(page);
}

static void check(const struct store_in_folder *p, sqlite3 *truth, int days_max) {
    static const char *const apps[] = {"", "app-0", "app-2", "none"};
    static const int days[] = {1, 7, 30, 90};
    for (size_t a = 0; a < sizeof apps / sizeof apps[0]; a++) {
        for (size_t d = 0; d < sizeof days / sizeof days[0] && days[d] <= days_max; d++) {
            check_page(p, truth, apps[a], days[d]);
            check_lists(p, truth, apps[a], days[d]);
        }
    }
}

/* ---- what happens to reports ---------------------------------------------------------------- */

/* Some get the group of another bug, as when their functions are named later. */
static void replace_some(const struct store_in_folder *p) {
    struct row *row = calloc(1, sizeof *row);
    assert_non_null(row);
    for (unsigned i = 3; i < REPORTS; i += 7) {
        make(p, row, i, "named");
        assert_int_equal(store_replace(p->store, row), STORE_DONE);
        row_free(row);
    }
    free(row);
}

#define OLD \
    "(SELECT fingerprint FROM grouped WHERE app = 'app-0' AND kind = 'hang' ORDER BY count DESC LIMIT 1)"

/* An older rule had two bugs in one group: one of them moves. */
static void group_again(const struct store_in_folder *p) {
    long grouped = 1;
    store_change(
        p,
        "CREATE TEMP TABLE t AS SELECT fingerprint AS f, count AS n, total_ms AS ms, " OLD
        " AS old FROM grouped WHERE app = 'app-0' AND kind = 'hang' ORDER BY count DESC LIMIT 1 OFFSET 1;"
        "UPDATE report SET grouped = (SELECT old FROM t) WHERE grouped = (SELECT f FROM t);"
        "UPDATE grouped SET count = count + n, total_ms = total_ms + ms FROM t WHERE fingerprint = old;"
        "INSERT INTO group_day SELECT old, day, count, total_ms FROM group_day JOIN t ON fingerprint = f"
        " ON CONFLICT DO UPDATE SET count = count + excluded.count, total_ms = total_ms + excluded.total_ms;"
        "DELETE FROM group_day WHERE fingerprint = (SELECT f FROM t);"
        "DELETE FROM grouped WHERE fingerprint = (SELECT f FROM t)");
    const int64_t groups = store_number(p, "SELECT count(*) FROM grouped");
    while (grouped > 0) {
        grouped = store_regroup(p->store, p->schema, 500);
    }
    assert_int_equal(grouped, 0);
    assert_int_equal(store_number(p, "SELECT count(*) FROM grouped"), groups + 1);
}

/* All that began more than so many days ago. */
static void remove_old(const struct store_in_folder *p, int days) {
    const int64_t before_ms = (time(NULL) / DAY_S - days) * DAY_S * 1000;
    store_change(p, "UPDATE report SET received_ms = started_ms");
    while (store_remove_old(p->store, before_ms, 300) == 300) {
    }
    assert_in_range(store_number(p, "SELECT count(*) FROM report"), 100, REPORTS - 100);
    const char *const tables[] = {"group_day", "app_day", "version_day"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char sql[96];
        snprintf(sql, sizeof sql, "SELECT min(day) * 86400000 FROM %s", tables[i]);
        assert_int_equal(store_number(p, sql), before_ms);
    }
}

static void an_overview_is_what_its_reports_add_up_to(void **state) {
    const struct store_in_folder *p = *state;
    sqlite3 *truth;
    assert_int_equal(sqlite3_open(p->file, &truth), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(truth, "CREATE TEMP TABLE used(id TEXT PRIMARY KEY, used_ms INTEGER, hang_free INTEGER)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    add_reports(p, truth);
    store_change(p, "INSERT INTO issue SELECT fingerprint, CASE rowid % 3 WHEN 0 THEN 'open' WHEN 1 THEN"
                    " 'ignored' ELSE 'resolved' END, '', '', iif(rowid % 4 = 0, 0, unixepoch() * 2000),"
                    " iif(rowid % 4 = 0, 0, 1000000) FROM grouped WHERE rowid % 2 = 0");
    assert_true(store_number(p, "SELECT count(*) FROM grouped WHERE kind = 'hang'") > 200);
    check(p, truth, 90);
    check_states(p, truth);
    replace_some(p);
    check(p, truth, 90);
    group_again(p);
    check(p, truth, 90);
    remove_old(p, 40);
    check(p, truth, 30);
    sqlite3_close(truth);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_overview_is_what_its_reports_add_up_to, store_set_up,
                                        store_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
