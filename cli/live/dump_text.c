/* SPDX-License-Identifier: MIT
 *
 * A thread is a line, and its own functions below it. Ordinary code.
 */
#include "cli/live/dump_text.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/base/sanitize.h"
#include "cli/live/own_frames.h"
#include "cli/reader/reports.h"
#include "cli/render/render.h"
#include "cli/render/short_name.h"

enum { FUNCTION_WIDTH_MAX = 44, OWN_MAX = 5 };

struct text_page {
    FILE *out;
    const json_t *report;
    const struct dump_text_options *options;
    const char *bold, *dim, *alarm, *end;
};

static const char *text_of(const json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}

static json_int_t number_of(const json_t *object, const char *name) {
    return json_integer_value(json_object_get(object, name));
}

/* ---- frames ----------------------------------------------------------------------------------- */

static char *function_of(const struct text_page *p, const json_t *frame) {
    const char *name = text_of(frame, "function");
    return name != NULL ? short_name(name, FUNCTION_WIDTH_MAX) : report_frame_place(p->report, frame);
}

static void put_frame(const struct text_page *p, const json_t *frame, const json_t *in, int width,
                      bool first) {
    char *function = function_of(p, frame), *called = in != NULL ? function_of(p, in) : NULL;
    const char *file = text_of(frame, "file");
    fprintf(p->out, "%s%s ", first ? p->bold : "", first ? "  >" : "   ");
    render_text(p->out, function != NULL ? function : "?");
    int w = function != NULL ? width_of(function) : 1;
    if (file != NULL || called != NULL) {
        fprintf(p->out, "%*s", (w < width ? width - w : 0) + 2, "");
    }
    if (file != NULL) {
        render_text(p->out, base_name(file));
        if (number_of(frame, "line") > 0) {
            fprintf(p->out, ":%d", (int)number_of(frame, "line"));
        }
    }
    if (called != NULL) {
        fputs(file != NULL ? "  in " : "in ", p->out);
        render_text(p->out, called);
    }
    fprintf(p->out, "%s\n", first ? p->end : "");
    free(function);
    free(called);
}

static int width_of_frames(const struct text_page *p, const struct own_frames *own) {
    int width = 0;
    for (size_t i = 0; i < own->count; i++) {
        char *function = function_of(p, own->frame[i]);
        int w = function != NULL ? width_of(function) : 1;
        width = w > width ? w : width;
        free(function);
    }
    return width < FUNCTION_WIDTH_MAX ? width : FUNCTION_WIDTH_MAX;
}

static const char *stop_text(const char *stop) {
    static const struct {
        const char *word, *text;
    } stops[] = {
        {"no-unwind-information", "the stack ends here: its code has no unwind information"},
        {"unreadable", "the stack ends here: it cannot be read any further"},
        {"no-progress", "the stack ends here: damaged"},
        {"limit", "the stack ends here: it is too deep"},
    };
    for (size_t i = 0; stop != NULL && i < sizeof stops / sizeof stops[0]; i++) {
        if (strcmp(stop, stops[i].word) == 0) {
            return stops[i].text;
        }
    }
    return NULL;
}

static void put_stack(const struct text_page *p, const json_t *stack) {
    struct own_frames own;
    own_frames_choose(&own, p->report, json_object_get(stack, "frames"),
                      p->options->all_frames ? SIZE_MAX : OWN_MAX);
    int width = width_of_frames(p, &own);
    for (size_t i = 0; i < own.count; i++) {
        put_frame(p, own.frame[i], i == 0 ? own.library : NULL, width, i == 0);
    }
    own_frames_free(&own);
    if (number_of(stack, "cut") > 0) {
        fprintf(p->out, "    %s(%lld frames of the middle are left out)%s\n", p->dim,
                (long long)number_of(stack, "cut"), p->end);
    }
    const char *why = stop_text(text_of(stack, "stop"));
    if (why != NULL) {
        fprintf(p->out, "    %s(%s)%s\n", p->dim, why, p->end);
    }
}

/* ---- threads ---------------------------------------------------------------------------------- */

static void put_state(const struct text_page *p, const json_t *thread) {
    const char *state = text_of(thread, "state"), *error = text_of(thread, "error");
    const char *detail = text_of(json_object_get(thread, "cause"), "detail");
    const json_t *cpu = json_object_get(thread, "cpu_percent");
    if (detail != NULL) {
        render_text(p->out, detail);
    } else if (cpu != NULL) {
        fprintf(p->out, "runs, %.0f%% CPU; no stack", json_number_value(cpu));
    } else if (state != NULL && strcmp(state, "stopped") == 0) {
        fputs("is stopped", p->out);
    } else if (error != NULL && state != NULL && strcmp(state, "gone") == 0) {
        fputs("has ended", p->out);
    } else if (error != NULL) {
        fputs("no stack: ", p->out);
        render_text(p->out, error);
    } else {
        render_text(p->out, state);
    }
}

static void put_thread(const struct text_page *p, const json_t *thread) {
    const char *name = text_of(thread, "name");
    fprintf(p->out, "thread %lld", (long long)number_of(thread, "tid"));
    if (name != NULL) {
        fputs(" \"", p->out);
        render_text(p->out, name);
        fputs("\"", p->out);
    }
    if (number_of(thread, "tid") == number_of(json_object_get(p->report, "app"), "pid")) {
        fputs(" (main)", p->out);
    }
    fputs("  ", p->out);
    put_state(p, thread);
    fputc('\n', p->out);
    put_stack(p, json_object_get(thread, "stack"));
}

/* "deadlock: 8354 -> 8371 -> 8354". */
static void put_ring(const struct text_page *p, const json_t *ring) {
    fprintf(p->out, "%sdeadlock: ", p->alarm);
    for (size_t i = 0; i < json_array_size(ring); i++) {
        fprintf(p->out, "%lld -> ", (long long)json_integer_value(json_array_get(ring, i)));
    }
    fprintf(p->out, "%lld%s\n", (long long)json_integer_value(json_array_get(ring, 0)), p->end);
}

static void put_head(const struct text_page *p, size_t threads) {
    const json_t *app = json_object_get(p->report, "app");
    char when[RENDER_TIME_BYTES];
    const char *time = render_time(when, text_of(p->report, "started_at")), *day = strchr(time, ' ');
    fputs(p->bold, p->out);
    render_text(p->out, text_of(app, "name"));
    fprintf(p->out, "[%lld], %zu thread%s, %s%s\n", (long long)number_of(app, "pid"), threads,
            by_count((int64_t)threads, "", "s"), day != NULL ? day + 1 : time, p->end);
}

int dump_text(FILE *out, const json_t *report, const struct dump_text_options *o) {
    struct text_page p = {
        .out = out, .report = report, .options = o, .bold = "", .dim = "", .alarm = "", .end = ""};
    const json_t *threads = json_object_get(report, "threads"), *rings = json_object_get(report, "deadlocks");
    if (o->colour) {
        p.bold = "\033[1m";
        p.dim = "\033[2m";
        p.alarm = "\033[1;31m";
        p.end = "\033[0m";
    }
    put_head(&p, json_array_size(threads));
    for (size_t i = 0; i < json_array_size(threads); i++) {
        put_thread(&p, json_array_get(threads, i));
    }
    for (size_t i = 0; i < json_array_size(rings); i++) {
        put_ring(&p, json_array_get(rings, i));
    }
    for (size_t i = 0; i < json_array_size(o->notes); i++) {
        fputs(p.dim, out);
        render_text(out, json_string_value(json_array_get(o->notes, i)));
        fprintf(out, "%s\n", p.end);
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
