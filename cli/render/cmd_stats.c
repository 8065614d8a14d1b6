/* SPDX-License-Identifier: MIT
 *
 * hangdog stats: what the hangs of a spool cost in sum, worst first.
 */
#include "cli/base/duration.h"
#include "cli/base/error.h"
#include "cli/base/json_text.h"
#include "cli/base/options.h"
#include "cli/base/sanitize.h"
#include "cli/base/terminal.h"
#include "cli/commands.h"
#include "cli/reader/groups.h"
#include "cli/reader/report_origin.h"
#include "cli/reader/report_words.h"
#include "cli/reader/summaries.h"
#include "cli/reader/summary_options.h"
#include "cli/reader/symbols_option.h"
#include "cli/render/render.h"
#include "cli/render/row_values.h"
#include "cli/render/stats_by.h"
#include "cli/render/table.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROWS 20
#define ROWS_MAX 1000000

struct options {
    struct summary_options read;
    const char *by;
    long rows;
    bool json;
};

static int cmd_stats(int argc, char **argv);

#define TO(member) .to = offsetof(struct options, member)

static const struct command_option stats_options[] = {
    {.name = "by",
     .kind = OPTION_TEXT,
     TO(by),
     .value = "WHAT",
     .words = STATS_BY_WORDS,
     .help = "function (usual), cause, version, host, unit, container",
     .more =
         "Each row is of one app. The version is the app's own, else its build-id. A program outside of a unit "
         "or a container has a dash."},
    OPTION_SINCE(options, read.since, NULL),
    OPTION_OF_APP(options, read.app),
    OPTION_ORIGINS(options, read.origin.host, read.origin.unit, read.origin.container),
    {.name = "rows",
     .letter = 'n',
     .kind = OPTION_COUNT,
     TO(rows),
     .value = "N",
     .max = ROWS_MAX,
     .help = "the worst N rows (20; 0: all)"},
    {.name = "json", .kind = OPTION_FLAG, TO(json), .help = "a JSON array of all rows, for programs"},
    OPTION_SYMBOLS(options, read.symbols),
    OPTION_NO_SYMBOLS(options, read.no_symbols),
    OPTION_READ_SPOOL(options, read.spool),
    OPTION_VERBOSE(options, read.verbose),
    {0},
};

const struct command command_stats = {
    .name = "stats",
    .group = "Look back",
    .about = "Add up the hangs on record, worst first",
    .usage = "[OPTIONS]",
    .example = {{"stats", "which functions cost the most time"},
                {"stats --since 7d --app nginx", "an app's last week"},
                {"stats --by version", "did the new version make it better?"},
                {"stats --by unit --host web-1", "the services of one host"}},
    .description =
        "A row says how much time its hangs took in sum, how many they are, how long the worst one lasted, and when "
        "the last one began. Hangs that have no report, for the limit of a day was reached, are counted too.\n\n"
        "The last line has the time for which the apps were watched: that of the sessions on record.\n\n",
    .environment = SYMBOLS_ENVIRONMENT,
    .deep = true,
    .options = stats_options,
    .run = cmd_stats,
};

/* ---- groups ---------------------------------------------------------------------------------- */

static json_int_t number(const json_t *row, const char *name) {
    return json_integer_value(json_object_get(row, name));
}

static bool is_hang(const json_t *summary) {
    return report_words_kind_is(json_text_or_null(summary, "kind"), HD_OF_HANG);
}

/* A hang that has no report, as its session counted it: what a report with its fingerprint says of it. */
static json_t *suppressed_summary(const json_t *hangs, const json_t *session, const json_t *one) {
    static const char *const of_session[] = {"app",  "version", "started_at", "id",
                                             "host", "unit",    "container"};
    const char *fingerprint = json_text_or_null(one, "fingerprint");
    json_t *out = NULL, *hang;
    size_t i;
    json_array_foreach(hangs, i, hang) {
        const char *other = json_text_or_null(hang, "fingerprint");
        if (fingerprint != NULL && other != NULL && strcmp(other, fingerprint) == 0) {
            out = json_copy(hang);
            break;
        }
    }
    out = out != NULL ? out : json_object();
    for (i = 0; i < sizeof of_session / sizeof of_session[0]; i++) {
        json_object_set(out, of_session[i], json_object_get(session, of_session[i]));
    }
    json_object_set(out, "fingerprint", json_object_get(one, "fingerprint"));
    json_object_set_new(out, "brief", json_true());
    return out;
}

static void add_to(json_t *row, const json_t *one) {
    json_int_t max = number(row, "max_ns"), other = number(one, "max_ns");
    json_object_set_new(row, "count",
                        json_integer(groups_add_times(number(row, "count"), number(one, "count"))));
    json_object_set_new(row, "total_ns",
                        json_integer(groups_add_times(number(row, "total_ns"), number(one, "total_ns"))));
    json_object_set_new(row, "max_ns", json_integer(other > max ? other : max));
}

/* The row that the summary belongs to. NULL: none. */
static json_t *row_like(const json_t *rows, const json_t *summary, group_key *key) {
    char *wanted = key(summary);
    json_t *row, *found = NULL;
    size_t i;
    json_array_foreach(rows, i, row) {
        char *has = key(row);
        found = wanted != NULL && has != NULL && strcmp(wanted, has) == 0 ? row : NULL;
        free(has);
        if (found != NULL) {
            break;
        }
    }
    free(wanted);
    return found;
}

static void add_suppressed(json_t *rows, const json_t *hangs, const json_t *session, group_key *key) {
    json_t *one;
    size_t i;
    json_array_foreach(json_object_get(session, "suppressed"), i, one) {
        json_t *summary = suppressed_summary(hangs, session, one), *row = row_like(rows, summary, key);
        if (row == NULL) {
            row = json_copy(summary);
            json_object_set(row, "last_at", json_object_get(session, "started_at"));
            json_array_append_new(rows, row);
        }
        add_to(row, one);
        json_decref(summary);
    }
}

/* The part of a session since that moment. */
static json_int_t watched_since(const json_t *session, time_t from) {
    struct tm start = {0};
    const char *started = json_text_or_null(session, "started_at");
    json_int_t ns = number(session, "duration_ns");
    if (from == 0 || started == NULL || strptime(started, "%Y-%m-%dT%H:%M:%S", &start) == NULL) {
        return ns;
    }
    time_t before = from - timegm(&start);
    json_int_t less = before > 0 ? before * DURATION_S : 0;
    return ns > less ? ns - less : 0;
}

static int worst_first(const void *a, const void *b) {
    json_int_t x = number(*(json_t *const *)a, "total_ns"), y = number(*(json_t *const *)b, "total_ns");
    return (x < y) - (x > y);
}

static json_t *sorted(const json_t *rows) {
    size_t n = json_array_size(rows);
    json_t **row = calloc(n + 1, sizeof(json_t *)), *out = json_array();
    for (size_t i = 0; row != NULL && i < n; i++) {
        row[i] = json_array_get(rows, i);
    }
    if (row != NULL) {
        qsort(row, n, sizeof(json_t *), worst_first);
    }
    for (size_t i = 0; row != NULL && i < n; i++) {
        json_array_append(out, row[i]);
    }
    free(row);
    return out;
}

/* The totals of a spool. */
struct sums {
    json_t *rows;
    json_int_t lost_ns, stalled_ns, watched_ns; /* stalled: of pools, while the loop waited */
};

static struct sums add_up(const json_t *summaries, time_t from, group_key *key) {
    struct sums sums = {0};
    json_t *hangs = json_array(), *summary, *row;
    size_t i;
    json_array_foreach(summaries, i, summary) {
        if (is_hang(summary)) {
            json_array_append(hangs, summary);
        }
    }
    json_t *rows = groups_make(hangs, key);
    json_array_foreach(summaries, i, summary) {
        const char *kind = json_text_or_null(summary, "kind");
        if (kind != NULL && strcmp(kind, "pool-stall") == 0) {
            sums.stalled_ns = groups_add_times(sums.stalled_ns, number(summary, "duration_ns"));
        } else if (kind != NULL && strcmp(kind, "session") == 0) {
            json_int_t watched = watched_since(summary, from);
            sums.watched_ns = groups_add_times(sums.watched_ns, watched);
            if (watched == number(summary, "duration_ns")) {
                add_suppressed(rows, hangs, summary, key); /* else they may be older */
            }
        }
    }
    json_array_foreach(rows, i, row) {
        sums.lost_ns = groups_add_times(sums.lost_ns, number(row, "total_ns"));
    }
    sums.lost_ns -= sums.stalled_ns;
    sums.rows = sorted(rows);
    json_decref(rows);
    json_decref(hangs);
    return sums;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void add_row(struct table *t, const json_t *row, const struct stats_by *by, bool terminal) {
    char lost[RENDER_DURATION_BYTES], worst[RENDER_DURATION_BYTES], count[24], when[ROW_BYTES];
    const char *text[TABLE_COLUMNS_MAX];
    char *function = row_function(row);
    size_t n = 0;
    snprintf(count, sizeof count, "%lld", (long long)number(row, "count"));
    text[n++] = render_duration(lost, number(row, "total_ns"));
    text[n++] = count;
    text[n++] = render_duration(worst, number(row, "max_ns"));
    text[n++] = json_text_or_null(row, by->member);
    if (by->function) {
        text[n++] = function;
    }
    text[n++] = json_text_or_null(row, "app");
    text[n++] = row_when(when, json_text_or_null(row, "last_at"), !terminal);
    table_add(t, text);
    free(function);
}

/* "206 s an hour" */
static const char *rate(char text[ROW_BYTES], const struct sums *s) {
    double per_hour = (double)s->lost_ns / (double)s->watched_ns * 3600;
    if (per_hour < 1) {
        snprintf(text, ROW_BYTES, "%.0f ms", 1e3 * per_hour);
    } else {
        snprintf(text, ROW_BYTES, "%.*f s", per_hour < 10 ? 1 : 0, per_hour);
    }
    return text;
}

static void print_sum(const struct sums *s) {
    char lost[RENDER_DURATION_BYTES], stalled[RENDER_DURATION_BYTES], watched[ROW_BYTES], per_hour[ROW_BYTES];
    printf("%s lost", render_duration(lost, s->lost_ns));
    if (s->watched_ns > 0) {
        printf(" in %s watched: %s an hour", row_span(watched, s->watched_ns), rate(per_hour, s));
    }
    if (s->stalled_ns > 0) {
        printf("; pool stalls: %s", render_duration(stalled, s->stalled_ns));
    }
    fputc('\n', stdout);
}

static void print_table(const struct sums *s, const struct stats_by *by, size_t rows) {
    struct table t;
    bool terminal = isatty(STDOUT_FILENO) != 0;
    size_t count = json_array_size(s->rows), first = rows != 0 && rows < count ? rows : count;
    table_start(&t, by->columns);
    for (size_t i = 0; i < first; i++) {
        add_row(&t, json_array_get(s->rows, i), by, terminal);
    }
    table_print(stdout, &t, terminal ? terminal_columns(STDOUT_FILENO) : 0,
                terminal_wants_colour(STDOUT_FILENO));
    if (count > 0 || s->watched_ns > 0) {
        print_sum(s);
    }
    table_free(&t);
}

static void print_json(const json_t *rows, const struct stats_by *by) {
    static const char *const members[] = {"fingerprint", "own",      "cause",  "app",    "version",
                                          "count",       "total_ns", "max_ns", "last_at"};
    json_t *all = json_array(), *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        json_t *out = json_object();
        for (size_t m = 0; m < sizeof members / sizeof members[0]; m++) {
            json_object_set(out, members[m], json_object_get(row, members[m]));
        }
        json_object_set(out, by->member, json_object_get(row, by->member));
        json_array_append_new(all, out);
    }
    sanitize_print_json(stdout, all, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(all);
}

static int cmd_stats(int argc, char **argv) {
    struct options o = {.rows = ROWS, .read.sessions = true};
    struct summaries s;
    int status, operand = options_parse(&command_stats, &o, argc, argv, &status);
    if (operand < 0) {
        return status;
    }
    if (operand != argc) {
        return options_wrong_use(&command_stats, "unexpected '%s'; did you mean '--app %s'?", argv[operand],
                                 argv[operand]);
    }
    const struct stats_by *by = stats_by_find(o.by);
    status = summaries_read(&command_stats, &o.read, &s);
    if (status != 0) {
        return status;
    }
    struct sums sums = add_up(summaries_rows(&s, by->function || o.json), s.from, by->key);
    if (o.json) {
        print_json(sums.rows, by);
    } else {
        print_table(&sums, by, (size_t)o.rows);
        row_print_cpu_reports(stdout, s.rows);
    }
    status = error_check_stdout("the sums");
    if (json_array_size(sums.rows) == 0 && sums.watched_ns == 0 && !o.json) {
        summaries_say_none(&s, &o.read);
    }
    status = summaries_lack_reports(&s) ? EXIT_ERROR : status;
    json_decref(sums.rows);
    summaries_free(&s);
    return status;
}
