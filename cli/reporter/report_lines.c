/* SPDX-License-Identifier: MIT */
#include "cli/reporter/report_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/memory_limit.h"
#include "cli/base/path.h"
#include "cli/base/shell_quote.h"
#include "cli/reader/keep_names.h"
#include "cli/reader/reports.h"
#include "cli/render/render.h"
#include "os/os.h"

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

json_t *report_lines_name(struct reporter *r, json_t *report, const char *path) {
    json_t *notes = NULL;
    if (!r->names || r->options->quiet) {
        return NULL;
    }
    memory_keep_to_room(); /* the program's use of it grows */
    if (r->symbolizer == NULL) {
        r->symbolizer = symbolizer_create(&(struct symbolizer_options){0});
    }
    if (r->symbolizer == NULL) {
        _exit(EXIT_FAILURE);
    }
    report_symbolicate(report, r->symbolizer, report_owner(path), r->options->json ? REPORT_ALL : REPORT_TREE,
                       &notes);
    keep_names(path, report);
    return notes;
}

char *report_lines_function(const json_t *report) {
    const json_t *frame = report_own_frame(report);
    const char *function = text_of(frame, "function"), *file = base_name(text_of(frame, "file"));
    int64_t line = json_integer_value(json_object_get(frame, "line"));
    char *text = NULL;
    if (frame == NULL) {
        return strdup("");
    }
    if (function[0] == '\0') {
        return report_frame_place(report, frame);
    }
    int n = file[0] == '\0' ? asprintf(&text, "%s", function)
            : line > 0      ? asprintf(&text, "%s (%s:%" PRId64 ")", function, file, line)
                            : asprintf(&text, "%s (%s)", function, file);
    return n >= 0 ? text : NULL;
}

static void put_command(const struct reporter *r, FILE *out, const char *words, const char *id) {
    fprintf(out, "%s %s %s%s", own_command(), words, id, r->options->spool_words);
}

static void put_repeat(FILE *out, const json_t *report, const struct hang_row *row) {
    char lasted[RENDER_DURATION_BYTES], all[RENDER_DURATION_BYTES];
    fprintf(out, "hangdog: same hang again: %s in ",
            render_duration(lasted, json_integer_value(json_object_get(report, "duration_ns"))));
    render_text(out, row->function);
    fprintf(out, "; %" PRIu64 " so far, %s\n", row->count, render_duration(all, (int64_t)row->total_ns));
}

static void put_whole(const struct reporter *r, FILE *out, const json_t *report, const json_t *notes) {
    struct render_options o = {.colour = r->colour,
                               .width = render_width(stderr),
                               .not_kept = r->options->not_kept,
                               .head = "hangdog: ",
                               .notes = notes,
                               .spool_words = r->options->spool_words};
    render_hang(out, report, &o);
}

static char *finish(FILE *out, char **text) {
    bool whole = fflush(out) == 0 && ferror(out) == 0;
    whole &= fclose(out) == 0;
    if (!whole) {
        free(*text);
        *text = NULL;
    }
    return *text;
}

char *report_lines_ended(struct reporter *r, const json_t *report, const json_t *notes,
                         const struct hang_row *row, size_t *bytes) {
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    if (out == NULL) {
        return NULL;
    }
    if (r->options->json) {
        render_json(out, report, JSON_COMPACT);
    } else if (row != NULL) {
        put_repeat(out, report, row);
    } else {
        put_whole(r, out, report, notes);
    }
    if (!r->names && r->options->json_fd < 0 && strcmp(text_of(report, "kind"), "session") != 0) {
        fprintf(out, "hangdog: names missing: %s", r->why);
        if (!r->options->not_kept) {
            fputs("; later: ", out);
            put_command(r, out, "show", text_of(report, "id"));
        }
        fputc('\n', out);
    }
    return finish(out, &text);
}

char *report_lines_lasts(const json_t *report, uint64_t age_ns, size_t *bytes) {
    char *text = NULL, *function = report_lines_function(report);
    FILE *out = open_memstream(&text, bytes);
    if (out != NULL) {
        const json_t *app = json_object_get(report, "app");
        char age[RENDER_DURATION_BYTES];
        uint64_t whole_ns = (age_ns + HD_NS_PER_S / 2) / HD_NS_PER_S * HD_NS_PER_S;
        fputs("hangdog: ", out);
        render_text(out, text_of(app, "name"));
        fprintf(out, "[%" PRId64 "] frozen for %s, still going%s",
                (int64_t)json_integer_value(json_object_get(app, "pid")),
                render_duration(age, (int64_t)whole_ns), function != NULL && function[0] != '\0' ? ": " : "");
        render_text(out, function);
        fputc('\n', out);
        finish(out, &text);
    }
    free(function);
    return text;
}
