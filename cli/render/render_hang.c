/* SPDX-License-Identifier: MIT
 *
 * A hang in short form: the headline, why, the user's own frames, and what shows more.
 */
#include "cli/reader/frame_origin.h"
#include "cli/reader/libuv_wait.h"
#include "cli/reader/own_frame.h"
#include "cli/reader/report_words.h"
#include "cli/reader/script_frames.h"
#include "cli/render/render_parts.h"
#include "cli/render/short_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL = RENDER_LABEL,
    HEADLINE_INDENT = 2
};
#define LIMIT_PERCENT 95 /* above this part of the memory limit, a cgroup lacks memory */
#define DELAY_SHARE 10   /* a delay of at least a tenth of the hang gets a line */

bool render_is_kind(const json_t *report, const char *kind) {
    const char *have = value_text(report, "kind");
    return have != NULL && strcmp(have, kind) == 0;
}

/* True: the hang has no end in the report. It lasts, or the process died, or the disk was full: the report
 * does not say which. */
bool render_is_open(const json_t *report) {
    return json_is_false(json_object_get(report, "complete")) && !render_is_kind(report, "live") &&
           !render_is_kind(report, "fatal-hang");
}

/* " (libpango-1.0)", or of a function of GLib, which all libraries call, " (from libgtksourceview-4)". The
 * caller frees; NULL: it is the user's function, or no library's. */
static char *library_text(const json_t *report, const json_t *frames, const json_t *own) {
    char *library = NULL, *caller = NULL, *text = NULL;
    if (!report_frame_is_librarys(report, own) || report_frame_origin(report, own) != OF_SYSTEM ||
        report_frame_is_plugin(report, own, true)) {
        return NULL;
    }
    size_t at = 0, end = report_loop_of(frames);
    while (at < end && json_array_get(frames, at) != own) {
        at++;
    }
    library = caller = render_library(report, own);
    while (caller != NULL && strncmp(caller, "libglib-", strlen("libglib-")) == 0 && ++at < end) {
        if (caller != library) {
            free(caller);
        }
        caller = render_library(report, json_array_get(frames, at));
    }
    bool called = at < end && caller != library;
    if (library == NULL || asprintf(&text, " (%s%s)", called ? "from " : "", called ? caller : library) < 0) {
        text = NULL;
    }
    if (caller != library) {
        free(caller);
    }
    free(library);
    return text;
}

const char *render_at_least(const json_t *report) {
    bool stuck_before = json_is_true(json_object_get(report, "at_least"));
    return stuck_before || render_is_open(report) ? "at least " : "";
}

char *render_own_function(const json_t *report, int width) {
    const struct render_options none = {0};
    const json_t *own = report_own_frame(report);
    if (own == NULL) {
        return NULL;
    }
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    char *wait = report_libuv_wait(report, frames, own, true);
    if (wait != NULL) {
        return wait;
    }
    char *library = library_text(report, frames, own), *text = NULL;
    int less = library != NULL ? name_width(library) : 0;
    char *function = render_function(&(struct page){.report = report, .options = &none}, own,
                                     width > less ? width - less : width);
    if (function != NULL && asprintf(&text, "%s%s", function, library != NULL ? library : "") < 0) {
        text = NULL;
    }
    free(function);
    free(library);
    return text;
}

/* ---- the headline -------------------------------------------------------------------------- */

/* The main thread's loop goes without saying. */
static void put_loop(FILE *out, const json_t *report) {
    const json_t *loop = json_object_get(report, "loop");
    const char *name = value_text(loop, "name");
    if (name != NULL && name[0] != 0 && strcmp(name, "main") != 0) {
        fprintf(out, ", thread %" PRId64 " \"%s\"", value_int(loop, "tid"), name);
    }
}

/* hang of 901 ms in lookup (lock.c:13), lockg[9123], 22:54:56 */
static void put_headline(const struct page *p) {
    char duration[RENDER_DURATION_BYTES], time[RENDER_TIME_BYTES];
    const json_t *app = json_object_get(p->report, "app");
    const char *started = value_text(p->report, "started_at"), *name = value_text(app, "name");
    const char *crash = render_crash_signal(p->report);
    int width = p->options->width;
    width = width > HEADLINE_INDENT + 1 ? width - HEADLINE_INDENT - 1 : width; /* with the comma */
    char *text = NULL, *own = render_own_function(p->report, width);
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out != NULL) {
        fputs(p->options->head != NULL ? p->options->head : "", out);
        if (crash != NULL) {
            fprintf(out, "crash (%s)", crash);
        } else if (render_is_kind(p->report, "live")) {
            fputs("live report", out);
        } else if (render_is_kind(p->report, "error")) {
            fputs("error", out);
        } else if (render_is_cpu(p->report)) {
            fprintf(out, "high CPU use for %s",
                    render_duration(duration, value_int(p->report, "duration_ns")));
        } else {
            fprintf(out, "%s of %s%s", report_words_noun(value_text(p->report, "kind")),
                    render_at_least(p->report),
                    render_duration(duration, value_int(p->report, "duration_ns")));
        }
        if (json_object_get(p->report, "pool") != NULL) {
            fputs(": ", out);
            render_pool(out, p->report);
        }
        if (own != NULL) {
            fprintf(out, " in %s", own);
        }
        fprintf(out, ", %s[%" PRId64 "]", name != NULL ? name : "?", value_int(app, "pid"));
        put_loop(out, p->report);
        fprintf(out, ", %s", p->options->dated ? render_time(time, started) : render_clock(time, started));
        if (fclose(out) == 0) {
            render_wrapped(p, p->style.alarm, "", HEADLINE_INDENT, text);
        }
    }
    free(text);
    free(own);
}

/* ---- why and what else --------------------------------------------------------------------- */

static void put_part(const struct page *p, int64_t ns, const char *what) {
    char duration[RENDER_DURATION_BYTES], text[160];
    int64_t whole = value_int(p->report, "duration_ns");
    if (ns <= whole / DELAY_SHARE) {
        return;
    }
    snprintf(text, sizeof text, "%s: %s", render_duration(duration, ns < whole ? ns : whole), what);
    render_wrapped(p, "", "  and  ", LABEL, text);
}

/* A group near its limit gives pages back and reads them again. */
static void put_memory_limit(const struct page *p, const json_t *cause) {
    const double mib = 1024 * 1024;
    char text[128];
    int64_t used = value_int(cause, "memory_used_bytes"), limit = value_int(cause, "memory_limit_bytes");
    if (limit <= 0 || used < limit / 100 * LIMIT_PERCENT) {
        return;
    }
    snprintf(text, sizeof text, "its control group used %.1f MiB of its memory limit of %.1f MiB",
             (double)used / mib, (double)limit / mib);
    render_wrapped(p, "", "  and  ", LABEL, text);
}

/* Names the loop's work in the program's own words. The JSON and the exports have the trace's id. */
static void put_label(const struct page *p) {
    const char *label = value_text(p->report, "label");
    if (label != NULL) {
        render_wrapped(p, "", "  for  ", LABEL, label);
    }
}

/* "Task-7, awaited by checkout, by Task-1". A program's main task goes without saying. */
static void put_task(const struct page *p) {
    const json_t *task = json_object_get(p->report, "task"), *awaiters = json_object_get(task, "awaiters");
    const char *name = value_text(task, "name");
    char *text = NULL;
    size_t bytes;
    bool plain = json_array_size(awaiters) == 0 && name != NULL && strcmp(name, "Task-1") == 0;
    FILE *out = name != NULL && !plain ? open_memstream(&text, &bytes) : NULL;
    if (out == NULL) {
        return;
    }
    sanitize_print(out, name);
    for (size_t i = 0; i < json_array_size(awaiters); i++) {
        fputs(i == 0 ? ", awaited by " : ", by ", out);
        sanitize_print(out, json_string_value(json_array_get(awaiters, i)));
    }
    if (fclose(out) == 0) {
        render_wrapped(p, "", "  task ", LABEL, text);
    }
    free(text);
}

static void put_why(const struct page *p) {
    const json_t *cause = json_object_get(p->report, "cause");
    char *why = render_why(p);
    bool starved = why != NULL && strstr(why, "no CPU was free") != NULL;
    if (why != NULL) {
        render_wrapped(p, "", "  why  ", LABEL, why);
    }
    free(why);
    render_crash_why(p);
    if (!starved) {
        put_part(p, value_int(cause, "run_delay_ns"), "no CPU was free");
    }
    put_part(p, value_int(cause, "throttled_ns"), "the CPU quota of its control group was used up");
    put_part(p, value_int(cause, "memory_stall_ns"), "memory was short");
    put_memory_limit(p, cause);
}

/* ---- the last lines ------------------------------------------------------------------------ */

static bool has_scripts(const json_t *report) {
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        if (script_frame_language(json_array_get(frames, i)) != NULL ||
            report_frame_is_of_interpreter(report, json_array_get(frames, i))) {
            return true;
        }
    }
    return false;
}

/* "runtime "; empty in a terminal that is too narrow for it. */
static const char *kind_of_hidden(const struct page *p) {
    const char *kind = has_scripts(p->report) ? "interpreter and library " : "runtime ";
    int used = name_width("  ( frames hidden; --all-frames)") + 3 + name_width(kind);
    return p->options->width == 0 || used <= p->options->width ? kind : "";
}

void render_hidden(const struct page *p, size_t hidden, const char *end) {
    if (hidden != 0) {
        fprintf(p->out, "(%zu %sframe%s hidden; --all-frames)%s", hidden, kind_of_hidden(p),
                cli_plural((int64_t)hidden, "", "s"), end);
    }
}

static int hidden_width(const struct page *p, size_t hidden) {
    char digits[24];
    return hidden == 0 ? 0
                       : snprintf(digits, sizeof digits, "%zu", hidden) + name_width(kind_of_hidden(p)) +
                             name_width("( frames hidden; --all-frames)") - (hidden == 1);
}

/* "more: hangdog show a7ac1f". NULL: no memory. */
static char *command_for_more(const struct page *p) {
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    fputs("more: ", out);
    render_command(out, p, p->options->called, value_text(p->report, "id"), "");
    if (fclose(out) == 0) {
        return text;
    }
    free(text);
    return NULL;
}

/* "(7 runtime frames hidden; --all-frames)  more: hangdog show a7ac1f", in two lines where it is too long. */
static void put_more(const struct page *p, size_t hidden) {
    bool more = !p->options->not_kept;
    if (hidden == 0 && !more) {
        return;
    }
    char *hint = more ? command_for_more(p) : NULL;
    int used = 2 + hidden_width(p, hidden) + (hint != NULL ? 2 + name_width(hint) : 0);
    bool two = hidden != 0 && p->options->width > 0 && used > p->options->width;
    fprintf(p->out, "%s  ", p->style.dim);
    render_hidden(p, hidden, hint == NULL ? "" : two ? "\n  " : "  ");
    sanitize_print(p->out, hint);
    fprintf(p->out, "%s\n", p->style.end);
    free(hint);
}

/* At most one: the last is the one that the user can do something about. */
static void put_hint(const struct page *p) {
    const json_t *notes = p->options->notes;
    const char *hint = json_string_value(json_array_get(notes, json_array_size(notes) - 1));
    if (hint != NULL) {
        render_wrapped(p, p->style.dim, "  ", HEADLINE_INDENT, hint);
    }
}

void render_short(const struct page *p, bool more) {
    const json_t *hot = json_object_get(p->report, "hot_stack"), *frames = json_object_get(hot, "frames");
    size_t hidden = 0;
    put_headline(p);
    put_label(p);
    put_task(p);
    put_why(p);
    render_own_frames(p, frames, &hidden);
    if (hot != NULL && json_array_size(frames) == 0 && !render_is_cpu(p->report)) {
        render_stop(p, hot);
    }
    render_remarks(p);
    if (more) {
        put_more(p, hidden);
        put_hint(p);
    }
}
