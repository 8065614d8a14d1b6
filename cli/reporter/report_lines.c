/* SPDX-License-Identifier: MIT */
#include "cli/reporter/report_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/cpu_quota.h"
#include "cli/base/memory_limit.h"
#include "cli/base/message.h"
#include "cli/base/shell_quote.h"
#include "cli/reader/keep_names.h"
#include "cli/reader/report_load.h"
#include "cli/reader/symbolicate.h"
#include "cli/render/render_parts.h"
#include "cli/reporter/printer_names.h"
#include "os/os.h"

#define SPACE_BYTES (512u * 1024)
#define END "\033[0m"
#define LABEL_INDENT 7
#define MESSAGE_INDENT 2

json_t *report_lines_name(struct printer *r, json_t *report, const char *path) {
    json_t *notes = NULL;
    bool json = r->options->json || r->options->json_fd >= 0;
    if (!r->names || (r->options->quiet && r->options->json_fd < 0)) {
        return NULL;
    }
    memory_keep_to_room(); /* the program's use of it grows */
    cpu_quota_leave(&r->shared->finish, &r->shared->hurry);
    const json_t *app = json_object_get(report, "app");
    if (printer_symbolizer(r, (int)json_integer_value(json_object_get(app, "pid"))) == NULL) {
        _exit(EXIT_FAILURE);
    }
    report_symbolicate(report, r->symbolizer, path != NULL ? report_owner(path) : geteuid(),
                       json ? REPORT_ALL : REPORT_TREE, &notes);
    cpu_quota_return();
    void *volatile space = malloc(SPACE_BYTES); /* without it the text would be cut */
    if (space == NULL) {
        _exit(EXIT_FAILURE);
    }
    free(space);
    if (path != NULL) {
        keep_names(path, report);
    }
    return notes;
}

char *report_lines_function(const json_t *report) {
    char *text = render_own_function(report, HANG_FUNCTION_BYTES - 1);
    return text != NULL ? text : strdup("");
}

/* In a line of its own of a terminal. */
static char *function_for(const json_t *report, int width) {
    bool narrow = width > MESSAGE_INDENT + 1 && width < HANG_FUNCTION_BYTES;
    return render_own_function(report, narrow ? width - MESSAGE_INDENT - 1 : HANG_FUNCTION_BYTES - 1);
}

static void put_command(const struct printer *r, FILE *out, const char *words, const char *id) {
    fprintf(out, "%s %s %s%s", shell_own_command(), words, id, r->options->spool_words);
}

static void put_repeat(const struct printer *r, FILE *out, const json_t *report, const struct hang_row *row) {
    char lasted[RENDER_DURATION_BYTES], all[RENDER_DURATION_BYTES], *text = NULL;
    const struct render_options o = {.colour = r->colour, .width = render_width(stderr)};
    const struct page p = {.out = out, .report = report, .options = &o, .style = render_style(r->colour)};
    char *function = function_for(report, o.width);
    bool in = function != NULL && function[0] != '\0';
    if (asprintf(&text, "same %s again: %s%s%s%s; %" PRIu64 " so far, %s",
                 json_object_get(report, "pool") != NULL ? "pool stall" : "hang", render_at_least(report),
                 render_duration(lasted, json_integer_value(json_object_get(report, "duration_ns"))),
                 in ? " in " : "", in ? function : "", row->count,
                 render_duration(all, (int64_t)row->total_ns)) >= 0) {
        render_wrapped(&p, r->colour ? MESSAGE_ALARM : "", "hangdog: ", MESSAGE_INDENT, text);
        free(text);
    }
    free(function);
}

static void put_whole(const struct printer *r, FILE *out, const json_t *report, const json_t *notes) {
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

char *report_lines_ended(struct printer *r, const json_t *report, const json_t *notes,
                         const struct hang_row *row, size_t *bytes) {
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    if (out == NULL) {
        return NULL;
    }
    if (r->options->json) {
        sanitize_print_json(out, report, JSON_COMPACT);
    } else if (row != NULL) {
        put_repeat(r, out, report, row);
    } else {
        put_whole(r, out, report, notes);
    }
    if (!r->names && strcmp(report_text(report, "kind"), "session") != 0) {
        fprintf(out, "hangdog: names missing: %s", r->why);
        if (!r->options->not_kept) {
            fputs("; later: ", out);
            put_command(r, out, "show", render_short_id(report_text(report, "id")));
        }
        fputc('\n', out);
    }
    return finish(out, &text);
}

/* Of a hang that lasts: it waits, sleeps, runs. The caller frees. */
static char *in_present(const char *why) {
    static const char *const verbs[][2] = {{"waited ", "waits "}, {"slept ", "sleeps "}, {"ran ", "runs "}};
    char *text = NULL;
    for (size_t i = 0; why != NULL && i < sizeof verbs / sizeof verbs[0]; i++) {
        size_t verb_bytes = strlen(verbs[i][0]);
        if (strncmp(why, verbs[i][0], verb_bytes) == 0) {
            return asprintf(&text, "%s%s", verbs[i][1], why + verb_bytes) >= 0 ? text : NULL;
        }
    }
    return why != NULL ? strdup(why) : NULL;
}

/* "serve.py[71] frozen for 5 s, still going: lookup (serve.py:6)". The caller frees; NULL: no memory. */
static char *text_of_age(const json_t *report, uint64_t age_ns, int width) {
    char age[RENDER_DURATION_BYTES], *function = function_for(report, width), *text = NULL;
    const json_t *app = json_object_get(report, "app");
    unsigned long long seconds = (age_ns + HD_NS_PER_S / 2) / HD_NS_PER_S;
    bool pool = json_object_get(report, "pool") != NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (seconds < 60) {
        snprintf(age, sizeof age, "%llu s", seconds);
    } else {
        render_duration(age, (int64_t)(seconds * HD_NS_PER_S));
    }
    if (out != NULL) {
        fprintf(out, "%s[%" PRId64 "]%s ", report_text(app, "name"),
                (int64_t)json_integer_value(json_object_get(app, "pid")), pool ? ":" : "");
        if (pool) {
            render_pool(out, report);
        }
        fprintf(out, "%s for %s, still going%s%s", pool ? " busy" : "frozen", age,
                function != NULL && function[0] != '\0' ? ": " : "", function != NULL ? function : "");
        finish(out, &text);
    }
    free(function);
    return text;
}

char *report_lines_lasts(const struct printer *r, const json_t *report, uint64_t age_ns, size_t *bytes) {
    struct render_options o = {.colour = r->colour, .width = render_width(stderr)};
    char *text = NULL, *cause = render_cause(report), *why = in_present(cause);
    FILE *out = open_memstream(&text, bytes);
    if (out != NULL) {
        struct page p = {.out = out, .report = report, .options = &o, .style = render_style(r->colour)};
        char *age = text_of_age(report, age_ns, o.width);
        if (age != NULL) {
            render_wrapped(&p, r->colour ? MESSAGE_WARNING : "", "hangdog: ", MESSAGE_INDENT, age);
        }
        free(age);
        if (why != NULL) {
            render_wrapped(&p, "", "  why  ", LABEL_INDENT, why);
        }
        fprintf(out, "%s  all stacks now: %s dump %" PRId64 "%s\n", p.style.dim, shell_own_command(),
                (int64_t)json_integer_value(json_object_get(json_object_get(report, "app"), "pid")),
                p.style.end);
        finish(out, &text);
    }
    free(cause);
    free(why);
    return text;
}
