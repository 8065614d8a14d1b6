/* SPDX-License-Identifier: MIT
 *
 * hangdog list: a row for each hang, newest last; its repeats in one run are in the same row.
 */
#include "cli/render/cmd_list.h"
#include "cli/base/error.h"
#include "cli/base/json_text.h"
#include "cli/base/options.h"
#include "cli/base/path.h"
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"
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
#include "cli/render/table.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPORT_ID_BYTES 37
#define ROWS 20
#define ROWS_MAX 1000000

struct options {
    struct summary_options read;
    long rows; /* -1: the usual number */
    bool json, each;
};

static int cmd_list(int argc, char **argv);

#define TO(member) .to = offsetof(struct options, member)

static const struct command_option list_options[] = {
    {.name = "rows",
     .letter = 'n',
     .kind = OPTION_COUNT,
     TO(rows),
     .value = "N",
     .max = ROWS_MAX,
     .help = "the last N rows (20; 0: all)",
     .more = "With --json all rows are printed, unless this option is given."},
    OPTION_SINCE(options, read.since, "A date may have a time, as '2026-11-20 22:50'. Both are local."),
    OPTION_OF_APP(options, read.app),
    {.name = "cause",
     .kind = OPTION_TEXT,
     TO(read.cause),
     .value = "CAUSE",
     .words = REPORT_WORDS_CAUSES,
     .help = "of this cause: cpu, lock, disk, network, sleep ..."},
    {.name = "kind",
     .kind = OPTION_TEXT,
     TO(read.kind),
     .value = "KIND",
     .words = REPORT_WORDS_KINDS,
     .help = "of this kind: hang, fatal, launch, session ...",
     .more = "A session is one run of an app; only this option lists sessions."},
    OPTION_ORIGINS(options, read.origin.host, read.origin.unit, read.origin.container),
    {.name = "each",
     .kind = OPTION_FLAG,
     TO(each),
     .help = "a row for each report, repeats too",
     .more =
         "Else hangs of one run that are alike are one row, with their number in column N, the time of the last "
         "one, and the longest duration."},
    {.name = "json", .kind = OPTION_FLAG, TO(json), .help = "a JSON array, for programs"},
    OPTION_SYMBOLS(options, read.symbols),
    OPTION_NO_SYMBOLS(options, read.no_symbols),
    OPTION_READ_SPOOL(options, read.spool),
    OPTION_VERBOSE(options, read.verbose),
    {0},
};

const struct command command_list = {
    .name = "list",
    .group = "Look back",
    .about = "List the hangs on record, newest last",
    .usage = "[OPTIONS]",
    .example = {{"list", "the last 20"},
                {"list --since yesterday", "what hung since yesterday's midnight"},
                {"list --app nginx --cause disk", "an app's hangs that waited for a disk"},
                {"list --kind session", "each run of an app"}},
    .description =
        "A row says when the last of these hangs began, in which app, of which kind it is, how long the longest one "
        "lasted, why, how often it came, in which of the app's own functions, and how hangdog show calls its "
        "report. \"> 2.0 s\" is of a hang that had begun before the watch: hangdog attach found it.\n\n"
        "On a terminal long functions are shortened to the width, then apps. Elsewhere nothing is cut, there is no "
        "header, and times have their dates.\n\n",
    .environment = SYMBOLS_ENVIRONMENT,
    .instead = {{.option = "group", .command = "hangdog stats"},
                {.option = "limit", .command = "hangdog list -n"}},
    .deep = true,
    .options = list_options,
    .run = cmd_list,
};

static const struct table_column columns[] = {
    {.title = "WHEN"},
    {.title = "APP", .gives_way = 2, .least = 8},
    {.title = "KIND", .drops = 1},
    {.title = "LONGEST", .right = true},
    {.title = "CAUSE", .drops = 2},
    {.title = "N", .right = true, .drops = 3},
    {.title = "FUNCTION", .gives_way = 1, .least = 18},
    {.title = "REPORT"},
    {0},
};

static char *key_of_id(const json_t *summary) {
    return groups_key(summary, (const char *const[]){"id", "file", NULL});
}

/* A hang without a fingerprint is like no other. */
static char *key_of_hang(const json_t *summary) {
    if (json_object_get(summary, "fingerprint") == NULL || json_object_get(summary, "session") == NULL) {
        return key_of_id(summary);
    }
    return groups_key(summary, (const char *const[]){"session", "fingerprint", "kind", "app", NULL});
}

static void add_row(struct table *t, const json_t *row, const struct summaries *s, bool terminal) {
    char when[ROW_BYTES], lasted[RENDER_DURATION_BYTES], longest[RENDER_DURATION_BYTES + 2], count[24];
    char *function = row_function(row), id[REPORT_ID_BYTES] = "";
    const char *file = base_name(json_text_or_null(row, "file"));
    snprintf(id, sizeof id, "%s", file != NULL ? file : "");             /* hangdog show looks for files */
    int64_t max_ns = json_integer_value(json_object_get(row, "max_ns")); /* 0: a crash, a live report */
    snprintf(longest, sizeof longest, "%s%s", json_is_true(json_object_get(row, "at_least")) ? "> " : "",
             max_ns > 0 ? render_duration(lasted, max_ns) : "-");
    snprintf(count, sizeof count, "%lld", (long long)json_integer_value(json_object_get(row, "count")));
    table_add(t, (const char *const[]){row_when(when, json_text_or_null(row, "last_at"), !terminal),
                                       json_text_or_null(row, "app"),
                                       report_words_brief(json_text_or_null(row, "kind")), longest,
                                       json_text_or_null(row, "cause"), count, function,
                                       id + strlen(id) - summaries_id_end(s, id)});
    free(function);
}

static void add_word(char *command, size_t size, const char *option, const char *value) {
    char word[1024];
    size_t n = strlen(command);
    if (value != NULL) {
        quote_word(word, sizeof word, value);
        snprintf(command + n, size - n, " --%s %s", option, word);
    }
}

/* The same list with all rows. */
static void say_older(size_t older, const struct options *o) {
    char command[4 * 1024];
    bool dim = terminal_wants_colour(STDOUT_FILENO);
    snprintf(command, sizeof command, "%s list -n 0%s", shell_own_command(), o->each ? " --each" : "");
    add_word(command, sizeof command, "since", o->read.since);
    add_word(command, sizeof command, "app", o->read.app);
    add_word(command, sizeof command, "cause", o->read.cause);
    add_word(command, sizeof command, "kind", o->read.kind);
    add_word(command, sizeof command, "host", o->read.origin.host);
    add_word(command, sizeof command, "unit", o->read.origin.unit);
    add_word(command, sizeof command, "container", o->read.origin.container);
    add_word(command, sizeof command, "spool", o->read.spool);
    fflush(stdout);
    fprintf(stderr, "%s%zu older: %s%s\n", dim ? "\033[2m" : "", older, command, dim ? "\033[0m" : "");
}

static void print_rows(const json_t *rows, size_t first, struct summaries *s) {
    struct table t;
    bool terminal = isatty(STDOUT_FILENO) != 0;
    table_start(&t, columns);
    for (size_t i = first; i < json_array_size(rows); i++) {
        summaries_name(s, json_array_get(rows, i));
        add_row(&t, json_array_get(rows, i), s, terminal);
    }
    table_print(stdout, &t, terminal ? terminal_columns(STDOUT_FILENO) : 0,
                terminal_wants_colour(STDOUT_FILENO));
    table_free(&t);
}

void cmd_list_matches(const char *spool, const char *id) {
    struct summary_options o = {.spool = spool, .id = id, .sessions = true};
    struct summaries s;
    if (summaries_read(&command_list, &o, &s) == 0) {
        json_t *rows = groups_make(s.rows, key_of_id);
        print_rows(rows, 0, &s);
        json_decref(rows);
        summaries_free(&s);
    }
}

static void print_json(json_t *rows, size_t first, struct summaries *s) {
    static const char *const inner[] = {"brief", "suppressed"};
    json_t *out = json_array();
    for (size_t i = first; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        summaries_name(s, row);
        for (size_t m = 0; m < sizeof inner / sizeof inner[0]; m++) {
            json_object_del(row, inner[m]);
        }
        json_array_append(out, row);
    }
    sanitize_print_json(stdout, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(out);
}

static int cmd_list(int argc, char **argv) {
    struct options o = {.rows = -1};
    struct summaries s;
    int status, operand = options_parse(&command_list, &o, argc, argv, &status);
    if (operand < 0) {
        return status;
    }
    if (operand != argc) {
        return options_wrong_use(&command_list, "unexpected '%s'; did you mean '--app %s'?", argv[operand],
                                 argv[operand]);
    }
    status = summaries_read(&command_list, &o.read, &s);
    if (status != 0) {
        return status;
    }
    json_t *rows = groups_make(s.rows, o.each ? key_of_id : key_of_hang);
    size_t count = json_array_size(rows), most = o.rows >= 0 ? (size_t)o.rows : o.json ? 0 : ROWS;
    size_t older = most != 0 && count > most ? count - most : 0;
    if (o.json) {
        print_json(rows, older, &s);
    } else {
        print_rows(rows, older, &s);
    }
    status = error_check_stdout("the list");
    if (count == 0 && !o.json) {
        summaries_say_none(&s, &o.read);
    } else if (older > 0 && !o.json && !options_quiet()) {
        say_older(older, &o);
    }
    status = summaries_lack_reports(&s) ? EXIT_ERROR : status;
    json_decref(rows);
    summaries_free(&s);
    return status;
}
