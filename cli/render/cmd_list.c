/* SPDX-License-Identifier: MIT
 *
 * hangdog list: one line for each report, newest last. Ordinary code.
 */
#include "cli/base/options.h"
#include "cli/commands.h"
#include "cli/reader/reports.h"
#include "cli/render/render.h"
#include "cli/render/short_name.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ID_WIDTH_MIN 13 /* "01a1fb7d-045d": the time to the millisecond */
enum { TIME_WIDTH = 19, DURATION_WIDTH = 9, FUNCTION_WIDTH_MIN = 28 };

static int cmd_list(int argc, char **argv);

struct options {
    const char *spool;
    bool json, no_symbols;
};

static const struct command_option list_options[] = {
    {.name = "json", .kind = OPTION_FLAG, .to = offsetof(struct options, json), .help = "a JSON array"},
    {.name = "no-symbols",
     .kind = OPTION_FLAG,
     .to = offsetof(struct options, no_symbols),
     .help = "modules and offsets in place of functions: faster"},
    {.name = "spool",
     .kind = OPTION_TEXT,
     .to = offsetof(struct options, spool),
     .value = "DIR",
     .help = "the reports in DIR, not those in every spool of yours",
     .completion = COMPLETE_FOLDER},
    {0},
};

const struct command command_list = {
    .name = "list",
    .group = "Look back",
    .about = "List the reports, newest last",
    .usage = "[OPTIONS]",
    .example = {{"list", "all reports"}, {"list --json", "for programs"}},
    .deep = true,
    .options = list_options,
    .run = cmd_list,
};

/* The operands' index, -1 with the exit status in *status. */
static int parse_options(int argc, char **argv, struct options *o, int *status) {
    int first = options_parse(&command_list, o, argc, argv, status);
    if (first >= 0 && first != argc) {
        *status = options_wrong_use(&command_list, "unexpected '%s'", argv[first]);
        return -1;
    }
    return first;
}

/* What is listed of one report. */
static json_t *summary_of(const json_t *report, const struct report_file *file) {
    const json_t *app = json_object_get(report, "app"), *own = report_own_frame(report);
    char *place = report_frame_place(report, own);
    json_t *out = json_object();
    json_object_set(out, "id", json_object_get(report, "id"));
    json_object_set_new(out, "file", json_string(file->path));
    json_object_set(out, "kind", json_object_get(report, "kind"));
    json_object_set(out, "started_at", json_object_get(report, "started_at"));
    json_object_set(out, "duration_ns", json_object_get(report, "duration_ns"));
    json_object_set(out, "cause", json_object_get(json_object_get(report, "cause"), "kind"));
    json_object_set(out, "function", json_object_get(own, "function"));
    if (place != NULL)
        json_object_set_new(out, "place", json_string(place));
    free(place);
    json_object_set(out, "app", json_object_get(app, "name"));
    json_object_set(out, "pid", json_object_get(app, "pid"));
    return out;
}

/* Summaries of all that can be read; what cannot is told on stderr and makes the status 1. */
static json_t *read_all(const struct report_files *files, const struct options *o, int *status) {
    struct symbolizer *symbolizer = o->no_symbols ? NULL : symbolizer_create(&(struct symbolizer_options){0});
    json_t *all = json_array();
    for (size_t i = 0; i < files->count; i++) {
        struct problem why;
        json_t *report = report_load(files->file[i].path, &why);
        if (report == NULL) {
            if (!report_is_gone(files->file[i].path))
                *status = error_print(&why);
            continue;
        }
        if (symbolizer != NULL)
            report_symbolicate(report, symbolizer, report_owner(files->file[i].path), REPORT_HOT, NULL);
        json_array_append_new(all, summary_of(report, &files->file[i]));
        json_decref(report);
    }
    symbolizer_destroy(symbolizer);
    return all;
}

/* As many characters of the ids as tell them apart: neighbours are the most alike, since they are sorted. */
static int id_width(const struct report_files *files) {
    int width = ID_WIDTH_MIN;
    for (size_t i = 1; i < files->count; i++) {
        const char *a = files->file[i - 1].id, *b = files->file[i].id;
        int same = 0;
        while (a[same] != 0 && a[same] == b[same])
            same++;
        if (a[same] != b[same] && same + 1 > width)
            width = same + 1;
    }
    return width;
}

static const char *text_of(const json_t *summary, const char *name) {
    const char *text = json_string_value(json_object_get(summary, name));
    return text != NULL && text[0] != 0 ? text : "-";
}

/* A column: text without control characters, padded to `width` characters. */
static void print_column(const char *text, int width) {
    int used = width_of(text);
    render_text(stdout, text);
    printf("%*s", (used < width ? width - used : 0) + 2, "");
}

/* What is in each column, and how wide that is. */
struct widths {
    int id, kind, cause, function;
    bool cut; /* longer names are shortened to their column */
};

static const char *function_of(const json_t *summary) {
    bool named = json_object_get(summary, "function") != NULL;
    return text_of(summary, named ? "function" : "place");
}

static int widest(const json_t *all, const char *name, int width) {
    for (size_t i = 0; i < json_array_size(all); i++) {
        int w = width_of(text_of(json_array_get(all, i), name));
        width = w > width ? w : width;
    }
    return width;
}

/* On a terminal the functions have what its width leaves them; elsewhere somebody may look for a name. */
static struct widths measure(const json_t *all, int id) {
    struct widths w = {.id = id, .kind = widest(all, "kind", 7), .cause = widest(all, "cause", 7)};
    struct winsize terminal = {0};
    w.function = FUNCTION_WIDTH_MIN;
    w.cut = isatty(STDOUT_FILENO);
    if (w.cut) {
        bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0 && terminal.ws_col != 0;
        int left = (known ? terminal.ws_col : 80) -
                   (w.id + TIME_WIDTH + w.kind + DURATION_WIDTH + w.cause + widest(all, "app", 0) + 6 * 2);
        w.function = left > w.function ? left : w.function;
    }
    return w;
}

/* The text with dots in place of what is beyond `width`. */
static void cut(char *text, int width) {
    int used = 0;
    for (char *c = text; *c != 0; c++) {
        bool begins = ((unsigned char)*c & 0xc0) != 0x80;
        if (begins && used++ == width - 3 && width_of(c) > 3) {
            memcpy(c, "...", 4);
            return;
        }
    }
}

static void print_line(const json_t *summary, const struct widths *w) {
    char time[RENDER_TIME_BYTES], duration[RENDER_DURATION_BYTES], id[40];
    char *function = short_name(function_of(summary), w->cut ? w->function : INT_MAX);
    snprintf(id, sizeof id, "%.*s", w->id, text_of(summary, "id"));
    if (function != NULL && w->cut)
        cut(function, w->function);
    print_column(id, w->id);
    print_column(render_time(time, text_of(summary, "started_at")), TIME_WIDTH);
    print_column(text_of(summary, "kind"), w->kind);
    print_column(render_duration(duration, json_integer_value(json_object_get(summary, "duration_ns"))),
                 DURATION_WIDTH);
    print_column(text_of(summary, "cause"), w->cause);
    print_column(function != NULL ? function : "-", w->function);
    free(function);
    render_text(stdout, text_of(summary, "app"));
    fputc('\n', stdout);
}

static void print_table(const json_t *all, int id) {
    struct widths w = measure(all, id);
    for (size_t i = 0; i < json_array_size(all); i++)
        print_line(json_array_get(all, i), &w);
}

static int cmd_list(int argc, char **argv) {
    struct options o = {0};
    struct report_files files;
    struct problem why;
    int status = 0;
    if (parse_options(argc, argv, &o, &status) < 0)
        return status;
    if (reports_find(o.spool, &files, &why) != 0)
        return error_print(&why);
    if (files.unread)
        status = EXIT_ERROR;
    json_t *all = read_all(&files, &o, &status);
    if (o.json) {
        render_json(stdout, all, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    } else if (files.count == 0) {
        printf("no reports in %s%s\n", files.where, files.unread ? " that can be read" : "");
    } else {
        print_table(all, id_width(&files));
    }
    json_decref(all);
    reports_free(&files);
    return written("the list") != 0 ? EXIT_ERROR : status;
}
