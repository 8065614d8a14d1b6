/* SPDX-License-Identifier: MIT
 *
 * hangdog show: one report, for a person or as JSON with symbols. Ordinary code.
 */
#include "cli/base/memory_limit.h"
#include "cli/base/options.h"
#include "cli/base/shell_quote.h"
#include "cli/commands.h"
#include "cli/reader/keep_names.h"
#include "cli/reader/reports.h"
#include "cli/render/render.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *spool; /* NULL: those of every app */
    bool json, threads, no_symbols;
};

/* The report's index in argv, -1 with the exit status in *status. */
static int parse_options(int argc, char **argv, struct options *o, int *status) {
    const struct command_option options[] = {
        {.name = "spool",
         .value = "DIR",
         .text = &o->spool,
         .help = "look for the report in DIR, not in every spool of yours"},
        {.name = "json",
         .flag = &o->json,
         .help = "the whole report as JSON, with functions, files and lines"},
        {.name = "threads", .flag = &o->threads, .help = "each thread with its stack, too"},
        {.name = "no-symbols", .flag = &o->no_symbols, .help = "modules and offsets only: faster"},
        {0},
    };
    const struct command show = {
        .name = "show",
        .about = "Shows one report: what hung, for how long, and why.",
        .usage = "[OPTIONS] ID|FILE|latest",
        .operands = "  ID        of the report, or the beginning of one: see hangdog list\n"
                    "  FILE      a report's file (a name with a / in it, or that ends with .json)\n"
                    "  latest    the newest report that is not of a session, else the newest session",
        .options = options,
        .after =
            "Lines and inlined functions need debug information: that of the program's file, or a file of it below\n"
            "/usr/lib/debug, or a server named in DEBUGINFOD_URLS. JavaScript functions need\n"
            "node --perf-basic-prof --interpreted-frames-native-stack.",
    };
    int first = options_parse(&show, argc, argv, status);
    if (first < 0 || argc - first == 1) {
        return first;
    }
    *status = argc == first ? complain_usage("show", "which report? An ID, a FILE, or latest")
                            : complain_usage("show", "one report at a time, not '%s' too", argv[first + 1]);
    return -1;
}

static int print_json(const json_t *report) {
    const size_t flags = JSON_INDENT(2) | JSON_PRESERVE_ORDER;
    if (render_json(stdout, report, flags) != 0 || fflush(stdout) != 0)
        return complain("writing the report: %s", strerror(errno));
    return 0;
}

static int print_text(const json_t *report, const json_t *notes, const struct options *o, const char *name) {
    char words[4 * PATH_MAX] = "", called[4 * PATH_MAX], repeated[4 * PATH_MAX];
    char *beside = reports_beside(name, json_string_value(json_object_get(report, "repeat_of")));
    quote_word(called, sizeof called, name);
    if (beside != NULL)
        quote_word(repeated, sizeof repeated, beside);
    if (o->spool != NULL)
        quote_spool(words, sizeof words, o->spool);
    struct render_options render = {.colour = render_wants_colour(stdout),
                                    .threads = o->threads,
                                    .notes = notes,
                                    .called = called,
                                    .repeated = beside != NULL ? repeated : NULL,
                                    .spool_words = words};
    free(beside);
    if (render_report(stdout, report, &render) != 0)
        return complain("writing the report: %s", strerror(errno));
    return 0;
}

int cmd_show(int argc, char **argv) {
    struct options o = {0};
    struct problem why;
    int status = 0;
    int which = parse_options(argc, argv, &o, &status);
    if (which < 0)
        return status;
    char *path;
    json_t *report = reports_pick(o.spool, argv[which], &path, &why);
    if (report == NULL) {
        free(path);
        return complain("%s", why.text);
    }
    json_t *notes = NULL;
    struct symbolizer *symbolizer = NULL;
    if (!o.no_symbols) {
        memory_keep_to_room(); /* it may stand in the program's own container */
        symbolizer = symbolizer_create(&(struct symbolizer_options){.debuginfod = true});
        if (symbolizer == NULL) {
            json_decref(report);
            free(path);
            return complain("adding symbols: out of memory; try --no-symbols");
        }
        report_symbolicate(report, symbolizer, report_owner(path),
                           o.json || o.threads ? REPORT_ALL : REPORT_TREE, &notes);
        keep_names(path, report);
    }
    status = o.json ? print_json(report) : print_text(report, notes, &o, argv[which]);
    symbolizer_destroy(symbolizer);
    json_decref(notes);
    json_decref(report);
    free(path);
    return status;
}
