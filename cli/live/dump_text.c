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
    size_t *hidden; /* frames that the text leaves out */
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
    *p->hidden += json_array_size(json_object_get(stack, "frames")) - own.count;
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
        fprintf(p->out, "runs, %.0f%% CPU%s", json_number_value(cpu),
                json_object_get(thread, "stack") != NULL ? "" : "; its stack: --running");
    } else if (state != NULL && strcmp(state, "stopped") == 0) {
        fputs("is stopped", p->out);
    } else if (state != NULL && strcmp(state, "gone") == 0) {
        fputs("has ended", p->out);
    } else if (error != NULL) {
        fputs("no stack: ", p->out);
        render_text(p->out, error);
    } else {
        render_text(p->out, state);
    }
}

static void put_name(const struct text_page *p, const json_t *thread) {
    const char *name = text_of(thread, "name");
    if (name != NULL) {
        fputs(" \"", p->out);
        render_text(p->out, name);
        fputs("\"", p->out);
    }
}

/* Threads that do the same, at the same place. */
struct group {
    char *body; /* their text behind the names */
    size_t bytes;
    size_t *member, count, room;
};

struct groups {
    struct group *item;
    size_t count, room;
};

static bool is_main(const struct text_page *p, const json_t *thread) {
    return number_of(thread, "tid") == number_of(json_object_get(p->report, "app"), "pid");
}

static char *body_of(const struct text_page *p, const json_t *thread, size_t *bytes) {
    struct text_page q = *p;
    char *body = NULL;
    q.out = open_memstream(&body, bytes);
    if (q.out == NULL) {
        return NULL;
    }
    put_state(&q, thread);
    fputc('\n', q.out);
    put_stack(&q, json_object_get(thread, "stack"));
    fclose(q.out);
    return body;
}

/* The group of this text, made if there is none; NULL: no memory. Takes `body`. */
static struct group *group_of(struct groups *groups, char *body, size_t bytes, bool alone) {
    for (size_t i = 0; !alone && i < groups->count; i++) {
        struct group *g = &groups->item[i];
        if (g->bytes == bytes && memcmp(g->body, body, bytes) == 0 && i > 0) {
            free(body);
            return g;
        }
    }
    if (groups->count == groups->room) {
        size_t room = groups->room != 0 ? 2 * groups->room : 64;
        struct group *more = realloc(groups->item, room * sizeof *more);
        if (more == NULL) {
            free(body);
            return NULL;
        }
        groups->item = more;
        groups->room = room;
    }
    groups->item[groups->count] = (struct group){.body = body, .bytes = bytes};
    return &groups->item[groups->count++];
}

static void add_member(struct group *g, size_t thread) {
    if (g->count == g->room) {
        size_t room = g->room != 0 ? 2 * g->room : 4;
        size_t *more = realloc(g->member, room * sizeof *more);
        if (more == NULL) {
            return;
        }
        g->member = more;
        g->room = room;
    }
    g->member[g->count++] = thread;
}

/* `3 threads "worker" (4712 4713 4714)`, of more the first numbers. */
static void put_members(const struct text_page *p, const struct group *g) {
    enum { SHOWN = 3 };
    const json_t *threads = json_object_get(p->report, "threads");
    const json_t *first = json_array_get(threads, g->member[0]);
    if (g->count == 1) {
        fprintf(p->out, "thread %lld", (long long)number_of(first, "tid"));
        put_name(p, first);
        fputs(is_main(p, first) ? " (main)" : "", p->out);
        return;
    }
    fprintf(p->out, "%zu threads", g->count);
    put_name(p, first);
    for (size_t i = 0; i < g->count && i < SHOWN; i++) {
        fprintf(p->out, "%s%lld", i == 0 ? " (" : " ",
                (long long)number_of(json_array_get(threads, g->member[i]), "tid"));
    }
    fputs(g->count > SHOWN ? " ...)  each" : ")  each", p->out);
}

/* The main thread comes first, and is in no group. */
static void put_threads(const struct text_page *p) {
    const json_t *threads = json_object_get(p->report, "threads");
    struct groups groups = {0};
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        size_t bytes = 0;
        char *body = body_of(p, thread, &bytes);
        struct group *g = body != NULL ? group_of(&groups, body, bytes, is_main(p, thread)) : NULL;
        if (g != NULL) {
            add_member(g, i);
        }
    }
    for (size_t i = 0; i < groups.count; i++) {
        const struct group *g = &groups.item[i];
        if (g->count != 0) {
            put_members(p, g);
            fputs(g->count > 1 ? " " : "  ", p->out);
            fputs(g->body, p->out);
        }
        free(groups.item[i].body);
        free(groups.item[i].member);
    }
    free(groups.item);
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

/* What was done to the process, and what the text leaves out. */
static void put_hidden(const struct text_page *p) {
    double pause_us = (double)number_of(json_object_get(p->report, "monitor"), "pause_total_ns") / 1e3;
    if (pause_us > 0) {
        fprintf(p->out, "%s(stopped running threads for %.0f us in all)%s\n", p->dim, pause_us, p->end);
    }
    if (*p->hidden != 0) {
        fprintf(p->out, "%s(%zu frames hidden; --all-frames)%s\n", p->dim, *p->hidden, p->end);
    }
}

int dump_text(FILE *out, const json_t *report, const struct dump_text_options *o) {
    size_t hidden = 0;
    struct text_page p = {.out = out,
                          .report = report,
                          .options = o,
                          .bold = "",
                          .dim = "",
                          .alarm = "",
                          .end = "",
                          .hidden = &hidden};
    const json_t *threads = json_object_get(report, "threads"), *rings = json_object_get(report, "deadlocks");
    if (o->colour) {
        p.bold = "\033[1m";
        p.dim = "\033[2m";
        p.alarm = "\033[1;31m";
        p.end = "\033[0m";
    }
    put_head(&p, json_array_size(threads));
    put_threads(&p);
    for (size_t i = 0; i < json_array_size(rings); i++) {
        put_ring(&p, json_array_get(rings, i));
    }
    put_hidden(&p);
    for (size_t i = 0; i < json_array_size(o->notes); i++) {
        fputs(p.dim, out);
        render_text(out, json_string_value(json_array_get(o->notes, i)));
        fprintf(out, "%s\n", p.end);
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
