/* SPDX-License-Identifier: MIT
 *
 * A thread is a line, and its own functions below it. Ordinary code.
 */
#include "cli/live/dump_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live/dump_tasks.h"
#include "cli/render/render_parts.h"

struct dump_page {
    struct page page;
    size_t *hidden; /* frames that the text leaves out */
};

static void put_stack(const struct dump_page *p, const json_t *stack) {
    size_t hidden = 0;
    if (stack == NULL) {
        return;
    }
    if (p->page.options->all_frames) {
        render_stack(&p->page, stack, false);
    } else {
        render_own_frames(&p->page, json_object_get(stack, "frames"), &hidden);
        render_stop(&p->page, stack);
    }
    *p->hidden += hidden;
}

void dump_text_stack(FILE *out, const json_t *report, const json_t *stack, const struct render_options *o,
                     size_t *hidden) {
    struct dump_page p = {
        .page = {.out = out, .report = report, .options = o, .style = render_style(o->colour)},
        .hidden = hidden};
    put_stack(&p, stack);
}

/* ---- threads ---------------------------------------------------------------------------------- */

void dump_text_state(FILE *out, const json_t *thread, bool brief) {
    const char *state = value_text(thread, "state"), *error = value_text(thread, "error");
    const char *detail = value_text(json_object_get(thread, "cause"), "detail");
    const json_t *cpu = json_object_get(thread, "cpu_percent");
    bool runs = cpu != NULL || (state != NULL && strcmp(state, "running") == 0);
    if (detail != NULL) {
        sanitize_print(out, detail);
    } else if (brief && runs) {
        fputs("runs", out);
    } else if (cpu != NULL) {
        fprintf(out, "runs, %.0f%% CPU%s", json_number_value(cpu),
                json_object_get(thread, "stack") != NULL ? "" : "; its stack: --running");
    } else if (state != NULL && strcmp(state, "stopped") == 0) {
        fputs("is stopped", out);
    } else if (state != NULL && strcmp(state, "gone") == 0) {
        fputs("has ended", out);
    } else if (error != NULL) {
        fputs("no stack: ", out);
        sanitize_print(out, error);
    } else {
        sanitize_print(out, state);
    }
}

static void put_state(const struct dump_page *p, const json_t *thread) {
    dump_text_state(p->page.out, thread, false);
}

/* Threads that do the same, at the same place. */
struct group {
    char *state, *stack; /* their texts */
    bool single;         /* the main thread */
    size_t *member, count, room;
};

struct groups {
    struct group *item;
    size_t count, room;
};

static bool is_main(const struct dump_page *p, const json_t *thread) {
    return value_int(thread, "tid") == value_int(json_object_get(p->page.report, "app"), "pid");
}

/* What `put` prints. Caller frees; NULL: no memory. */
static char *text_of(const struct dump_page *p, const json_t *object,
                     void (*put)(const struct dump_page *, const json_t *)) {
    struct dump_page q = *p;
    char *text = NULL;
    size_t bytes;
    q.page.out = open_memstream(&text, &bytes);
    if (q.page.out == NULL) {
        return NULL;
    }
    put(&q, object);
    return fclose(q.page.out) == 0 ? text : NULL;
}

static bool add_group(struct groups *groups) {
    if (groups->count == groups->room) {
        size_t room = groups->room != 0 ? 2 * groups->room : 64;
        struct group *more = realloc(groups->item, room * sizeof *more);
        if (more == NULL) {
            return false;
        }
        groups->item = more;
        groups->room = room;
    }
    groups->count++;
    return true;
}

/* The group of these texts, made if there is none; NULL: no memory. Takes them. */
static struct group *group_of(struct groups *groups, char *state, char *stack, bool single) {
    struct group *found = NULL;
    for (size_t i = 0; !single && state != NULL && stack != NULL && i < groups->count && found == NULL; i++) {
        struct group *g = &groups->item[i];
        found = !g->single && strcmp(g->state, state) == 0 && strcmp(g->stack, stack) == 0 ? g : NULL;
    }
    if (found == NULL && state != NULL && stack != NULL && add_group(groups)) {
        found = &groups->item[groups->count - 1];
        *found = (struct group){.state = state, .stack = stack, .single = single};
        return found;
    }
    free(state);
    free(stack);
    return found;
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

/* `3 threads "worker" (4712 4713 4714)  each waits in futex`, of more the first numbers. */
static char *group_line(const struct dump_page *p, const struct group *g) {
    enum {
        SHOWN = 3
    };
    const json_t *threads = json_object_get(p->page.report, "threads");
    const json_t *first = json_array_get(threads, g->member[0]);
    const char *name = value_text(first, "name");
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    if (g->count == 1) {
        fprintf(out, "thread %" PRId64, value_int(first, "tid"));
    } else {
        fprintf(out, "%zu threads", g->count);
    }
    fprintf(out, name != NULL ? " \"%s\"" : "", name);
    fputs(is_main(p, first) ? " (main)" : "", out);
    for (size_t i = 0; g->count > 1 && i < g->count && i < SHOWN; i++) {
        fprintf(out, "%s%" PRId64, i == 0 ? " (" : " ",
                value_int(json_array_get(threads, g->member[i]), "tid"));
    }
    fprintf(out, "%s  %s%s",
            g->count > SHOWN ? " ...)"
            : g->count > 1   ? ")"
                             : "",
            g->count > 1 ? "each " : "", g->state);
    return fclose(out) == 0 ? text : NULL;
}

static void put_group(const struct dump_page *p, struct group *g) {
    char *line = g->count != 0 ? group_line(p, g) : NULL;
    if (line != NULL) {
        render_wrapped(&p->page, "", "", 4, line);
        fputs(g->stack, p->page.out);
    }
    free(line);
    free(g->state);
    free(g->stack);
    free(g->member);
}

static void put_threads(const struct dump_page *p) {
    const json_t *threads = json_object_get(p->page.report, "threads");
    struct groups groups = {0};
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        char *state = text_of(p, thread, put_state);
        char *stack = text_of(p, json_object_get(thread, "stack"), put_stack);
        struct group *g = group_of(&groups, state, stack, is_main(p, thread));
        if (g != NULL) {
            add_member(g, i);
        }
    }
    for (size_t i = 0; i < groups.count; i++) {
        put_group(p, &groups.item[i]);
    }
    free(groups.item);
}

char *dump_text_ring(const json_t *ring) {
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    fputs("deadlock: ", out);
    for (size_t i = 0; i < json_array_size(ring); i++) {
        fprintf(out, "%" JSON_INTEGER_FORMAT " -> ", json_integer_value(json_array_get(ring, i)));
    }
    fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(json_array_get(ring, 0)));
    return fclose(out) == 0 ? text : NULL;
}

static void put_ring(const struct dump_page *p, const json_t *ring) {
    char *text = dump_text_ring(ring);
    fprintf(p->page.out, "%s%s%s\n", p->page.style.alarm, text != NULL ? text : "deadlock",
            p->page.style.end);
    free(text);
}

static void put_head(const struct dump_page *p, size_t threads) {
    const json_t *app = json_object_get(p->page.report, "app");
    char when[RENDER_TIME_BYTES];
    fputs(p->page.style.bold, p->page.out);
    sanitize_print(p->page.out, value_text(app, "name"));
    fprintf(p->page.out, "[%" PRId64 "], %zu thread%s, %s%s\n", value_int(app, "pid"), threads,
            cli_plural((int64_t)threads, "", "s"),
            render_clock(when, value_text(p->page.report, "started_at")), p->page.style.end);
}

/* Prints how long threads were stopped, and what the text leaves out. */
static void put_hidden(const struct dump_page *p) {
    double pause_us = (double)value_int(json_object_get(p->page.report, "monitor"), "pause_total_ns") / 1e3;
    if (pause_us > 0) {
        fprintf(p->page.out, "%s(stopped running threads for %.0f us in all)%s\n", p->page.style.dim,
                pause_us, p->page.style.end);
    }
    if (*p->hidden != 0) {
        fputs(p->page.style.dim, p->page.out);
        render_hidden(&p->page, *p->hidden, "");
        fprintf(p->page.out, "%s\n", p->page.style.end);
    }
}

int dump_text(FILE *out, const json_t *report, const struct render_options *o) {
    size_t hidden = 0;
    struct dump_page p = {
        .page = {.out = out, .report = report, .options = o, .style = render_style(o->colour)},
        .hidden = &hidden};
    const json_t *threads = json_object_get(report, "threads"), *rings = json_object_get(report, "deadlocks");
    put_head(&p, json_array_size(threads));
    put_threads(&p);
    dump_tasks(&p.page, &hidden);
    for (size_t i = 0; i < json_array_size(rings); i++) {
        put_ring(&p, json_array_get(rings, i));
    }
    put_hidden(&p);
    for (size_t i = 0; i < json_array_size(o->notes); i++) {
        fputs(p.page.style.dim, out);
        sanitize_print(out, json_string_value(json_array_get(o->notes, i)));
        fprintf(out, "%s\n", p.page.style.end);
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
