/* SPDX-License-Identifier: MIT
 *
 * hangdog show: one report, for a person or as JSON with symbols. Ordinary code.
 */
#include "cli/base/error.h"
#include "cli/base/libexec.h"
#include "cli/base/memory_limit.h"
#include "cli/base/options.h"
#include "cli/base/shell_quote.h"
#include "cli/commands.h"
#include "cli/reader/keep_names.h"
#include "cli/reader/report_load.h"
#include "cli/reader/report_pick.h"
#include "cli/reader/symbolicate.h"
#include "cli/reader/symbols_option.h"
#include "cli/render/cmd_list.h"
#include "cli/render/html_page.h"
#include "cli/render/render.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the pager ------------------------------------------------------------------------------- */

#define NOT_FOUND 127

static bool is_longer_than_terminal(const char *text, size_t bytes) {
    struct winsize size = {0};
    const char *terminal = getenv("TERM");
    size_t lines = 1;
    if (terminal == NULL || strcmp(terminal, "dumb") == 0 || isatty(STDOUT_FILENO) == 0 ||
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        lines += text[i] == '\n'; /* the shell's prompt has a line too */
    }
    return lines > size.ws_row;
}

static int print_directly(const char *text, size_t bytes) {
    return fwrite(text, 1, bytes, stdout) == bytes && fflush(stdout) == 0 ? 0 : -1;
}

/* False: there is no such pager. A user who leaves it has read enough. */
static bool print_through(const char *pager, const char *text, size_t bytes) {
    setenv("LESS", "FRX", 0); /* git's: colours pass, and the text stays on the screen */
    setenv("LV", "-c", 0);
    FILE *out = popen(pager, "w"); // NOLINT(cert-env33-c): the user's own command, as git runs it
    if (out == NULL) {
        return false;
    }
    (void)!fwrite(text, 1, bytes, out);
    int status = pclose(out);
    return !WIFEXITED(status) || WEXITSTATUS(status) != NOT_FOUND;
}

/* Prints the text on stdout: through $PAGER, else less, where stdout is a terminal with fewer lines, as git
 * does. 0, or -1 with errno. */
static int pager_print(const char *text, size_t bytes) {
    const char *pager = getenv("PAGER");
    pager = pager == NULL ? "less" : pager;
    if (pager[0] == 0 || strcmp(pager, "cat") == 0 || !is_longer_than_terminal(text, bytes)) {
        return print_directly(text, bytes);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* Ctrl-C is for the pager */
    bool printed = print_through(pager, text, bytes);
    signal(SIGINT, SIG_DFL);
    return printed ? 0 : print_directly(text, bytes);
}

#define TEXT_COLUMNS 100

static int cmd_show(int argc, char **argv);

struct options {
    const char *spool; /* NULL: those of every app */
    const char *html;  /* NULL: no file for a browser */
    const char *symbols;
    bool json, threads, all_frames, no_symbols;
};

static const struct command_option show_options[] = {
    {.name = "all-frames",
     .kind = OPTION_FLAG,
     .to = offsetof(struct options, all_frames),
     .help = "frames of interpreters and libraries too, with modules"},
    {.name = "threads",
     .kind = OPTION_FLAG,
     .to = offsetof(struct options, threads),
     .help = "all threads with their stacks"},
    {.name = "json",
     .kind = OPTION_FLAG,
     .to = offsetof(struct options, json),
     .help = "the whole report as JSON, with functions, files and lines"},
#ifdef HAS_REPORT_PAGE
    {.name = "html",
     .kind = OPTION_TEXT,
     .to = offsetof(struct options, html),
     .value = "FILE",
     .help = "write the report with pictures into FILE, for a browser",
     .more = "The file has everything in it: it needs no server, and loads nothing.",
     .completion = COMPLETE_FILE},
#endif
    OPTION_SYMBOLS(options, symbols),
    OPTION_NO_SYMBOLS(options, no_symbols),
    {.name = "spool",
     .kind = OPTION_TEXT,
     .to = offsetof(struct options, spool),
     .value = "DIR",
     .help = "look for the report in DIR, not in every spool of yours",
     .completion = COMPLETE_FOLDER},
    {0},
};

const struct command command_show = {
    .name = "show",
    .group = "Look back",
    .about = "Show one report: what hung, for how long, and why",
    .usage = "[OPTIONS] [ID|FILE|latest|latest~N]",
    .example = {{"show", "the last hang in full"},
                {"show latest~1", "the hang before it"},
                {"show a7ac1f", "a hang by the id that hangdog list prints"},
                {"show ./report.json", "a report of a file, or a trace"},
#ifdef HAS_REPORT_PAGE
                {"show --html hang.html", "with a flame graph, for a browser"},
#endif
                {"show --json", "for programs: docs/report.schema.json"}},
    .description =
        "The report is the latest one that is not of a session, one before it (latest~1), a file (a name with a "
        "slash in it, or that ends with .json), or an id: a beginning or an end is enough that no other report "
        "has. Where several have it, they are listed.\n\n"
        "A report that is longer than the terminal is shown by $PAGER, else by less.\n\n"
        "Lines and inlined functions need debug information: that of the program's file, a file below "
        "/usr/lib/debug, or a server named in DEBUGINFOD_URLS. The functions of Python 3.8 to "
        "3.14 and node 18 to 24 need nothing.\n\n",
    .environment = SYMBOLS_ENVIRONMENT,
#ifndef HAS_REPORT_PAGE
    .instead = {{.option = "html",
                 .command = "make dashboard && sudo make install",
                 .lacks =
                     "this hangdog was built without the dashboard and has no --html; build it with that, in "
                     "its sources"}},
#endif
    .deep = true,
    .operand = COMPLETE_REPORT,
    .options = show_options,
    .run = cmd_show,
};

/* Which report, as the user names it. NULL with the exit status in *status. */
static const char *parse_options(int argc, char **argv, struct options *o, int *status) {
    int first = options_parse(&command_show, o, argc, argv, status);
    if (first < 0) {
        return NULL;
    }
    if (argc - first > 1) {
        *status = options_wrong_use(&command_show, "unexpected '%s': one report at a time", argv[first + 1]);
        return NULL;
    }
    if (o->json && o->html != NULL) {
        *status = options_wrong_use(&command_show, "--json and --html exclude each other");
        return NULL;
    }
    size_t bytes = o->html != NULL ? strlen(o->html) : 0;
    if (bytes > 5 && strcmp(o->html + bytes - 5, ".json") == 0) { /* the user meant the report to read */
        *status = options_wrong_use(
            &command_show, "--html wants the page to write, such as hang.html; %s may be a report", o->html);
        return NULL;
    }
    return first < argc ? argv[first] : "latest";
}

static int print_json(const json_t *report) {
    const size_t flags = JSON_INDENT(2) | JSON_PRESERVE_ORDER;
    if (sanitize_print_json(stdout, report, flags) != 0 || fflush(stdout) != 0) {
        return print_error("cannot print the report: %s", strerror(errno));
    }
    return 0;
}

static int print_text(const json_t *report, const json_t *notes, const struct options *o, const char *name,
                      const char *path) {
    char words[4 * PATH_MAX] = "", called[4 * PATH_MAX], repeated[4 * PATH_MAX];
    char *near = report_pick_repeated(name, json_string_value(json_object_get(report, "repeat_of")));
    quote_word(called, sizeof called, name);
    if (near != NULL) {
        quote_word(repeated, sizeof repeated, near);
    }
    if (o->spool != NULL) {
        quote_spool(words, sizeof words, o->spool);
    }
    struct render_options render = {.colour = render_wants_colour(stdout),
                                    .width = render_width(stdout),
                                    .all_frames = o->all_frames,
                                    .threads = o->threads,
                                    .dated = true,
                                    .notes = notes,
                                    .file = path,
                                    .called = called,
                                    .repeated = near != NULL ? repeated : NULL,
                                    .spool_words = words};
    free(near);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    bool whole = out != NULL && render_report(out, report, &render) == 0;
    whole = out != NULL && fclose(out) == 0 && whole && pager_print(text, bytes) == 0;
    free(text);
    return whole ? 0 : print_error("cannot print the report: %s", strerror(errno));
}

/* Its text has the width of a page. */
static int write_html(json_t *report, const json_t *notes, const char *path) {
    const struct render_options render = {
        .width = TEXT_COLUMNS, .threads = true, .dated = true, .not_kept = true, .notes = notes};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    bool whole = out != NULL && render_report(out, report, &render) == 0;
    whole = out != NULL && fclose(out) == 0 && whole;
    FILE *page = whole ? fopen(path, "we") : NULL;
    whole = page != NULL && html_page_write(page, report, text) == 0;
    int error = errno;
    if (page != NULL && fclose(page) != 0 && whole) {
        error = errno;
        whole = false;
    }
    free(text);
    return whole ? 0 : print_error("cannot write %s: %s", path, strerror(error));
}

/* The report, or NULL with the exit status in *status. */
static json_t *pick(const struct options *o, const char *name, char **path, int *status) {
    struct problem why;
    size_t matches;
    json_t *report = reports_pick(o->spool, name, path, &matches, &why);
    if (report == NULL) {
        *status = error_print(&why);
        if (matches > 1) {
            cmd_list_matches(o->spool, name);
        }
    }
    return report;
}

static int print_trace(const json_t *trace, const struct render_options *render) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    bool whole = out != NULL && render_trace(out, trace, render) == 0;
    whole = out != NULL && fclose(out) == 0 && whole && pager_print(text, bytes) == 0;
    free(text);
    return whole ? 0 : print_error("cannot print the trace: %s", strerror(errno));
}

/* A file of libhangdog-trace is no report; its rows get names as frames do. */
static int show_trace(json_t *trace, const struct options *o) {
    struct render_options render = {.colour = render_wants_colour(stdout), .width = render_width(stdout)};
    memory_keep_to_room();
    struct symbolizer *symbolizer =
        o->no_symbols
            ? NULL
            : symbolizer_create(&(struct symbolizer_options){.debuginfod = true,
                                                             .on_wait = symbols_say_wait,
                                                             .worker = libexec_look_up(),
                                                             .symbols = symbols_folders(o->symbols)});
    if (symbolizer != NULL) {
        json_t *stack = json_pack("{s:O}", "frames", json_object_get(trace, "calls"));
        json_object_set_new(trace, "hot_stack", stack);
        report_symbolicate(trace, symbolizer, geteuid(), REPORT_HOT, NULL);
        json_object_del(trace, "hot_stack");
    }
    int status = o->json ? print_json(trace) : print_trace(trace, &render);
    symbolizer_destroy(symbolizer);
    json_decref(trace);
    return status;
}

static int cmd_show(int argc, char **argv) {
    struct options o = {0};
    int status = 0;
    char *path = NULL;
    const char *name = parse_options(argc, argv, &o, &status);
    json_t *trace = name != NULL ? trace_load(name) : NULL;
    if (trace != NULL && o.html == NULL) {
        return show_trace(trace, &o);
    }
    if (trace != NULL) {
        json_decref(trace);
        return print_error("cannot write %s: a trace has no page", o.html);
    }
    json_t *report = name != NULL ? pick(&o, name, &path, &status) : NULL;
    if (report == NULL) {
        free(path);
        return status;
    }
    json_t *notes = NULL;
    struct symbolizer *symbolizer = NULL;
    if (!o.no_symbols) {
        memory_keep_to_room(); /* hangdog may run in the program's container */
        symbolizer = symbolizer_create(&(struct symbolizer_options){.debuginfod = true,
                                                                    .on_wait = symbols_say_wait,
                                                                    .worker = libexec_look_up(),
                                                                    .symbols = symbols_folders(o.symbols)});
        if (symbolizer == NULL) {
            json_decref(report);
            free(path);
            return print_error_try("hangdog show --no-symbols", "cannot look up names: out of memory");
        }
        report_symbolicate(report, symbolizer, report_owner(path), REPORT_ALL, &notes);
        keep_names(path, report);
    }
    status = o.html != NULL ? write_html(report, notes, o.html)
             : o.json       ? print_json(report)
                            : print_text(report, notes, &o, name, path);
    symbolizer_destroy(symbolizer);
    json_decref(notes);
    json_decref(report);
    free(path);
    return status;
}
