/* SPDX-License-Identifier: MIT
 *
 * Threads are alike if the text of their state and the text of their stack are equal. Numbers that differ,
 * such as the time of a wait, are no part of those texts: the group's line has their range.
 */
#include "cli/live/dump_groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live/thread_text.h"

#define SHOWN 3u /* names, and numbers, of a group */
#define FOR_LEAST_NS (100 * INT64_C(1000000))

struct dump_group {
    char *state, *stack; /* their texts */
    bool single;         /* the main thread */
    const json_t **member;
    size_t count, room;
};

static bool is_main(const struct dump_groups *g, const json_t *thread) {
    return value_int(thread, "tid") == value_int(json_object_get(g->page->report, "app"), "pid");
}

/* ---- the groups ------------------------------------------------------------------------------- */

static bool add_group(struct dump_groups *groups) {
    if (groups->count == groups->room) {
        size_t room = groups->room != 0 ? 2 * groups->room : 64;
        struct dump_group *more = realloc(groups->item, room * sizeof *more);
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
static struct dump_group *group_of(struct dump_groups *groups, char *state, char *stack, bool single) {
    struct dump_group *found = NULL;
    for (size_t i = 0; !single && state != NULL && stack != NULL && i < groups->count && found == NULL; i++) {
        struct dump_group *g = &groups->item[i];
        found = !g->single && strcmp(g->state, state) == 0 && strcmp(g->stack, stack) == 0 ? g : NULL;
    }
    if (found == NULL && state != NULL && stack != NULL && add_group(groups)) {
        found = &groups->item[groups->count - 1];
        *found = (struct dump_group){.state = state, .stack = stack, .single = single};
        return found;
    }
    free(state);
    free(stack);
    return found;
}

static void add_member(struct dump_group *g, const json_t *thread) {
    if (g->count == g->room) {
        size_t room = g->room != 0 ? 2 * g->room : 4;
        const json_t **more = realloc(g->member, room * sizeof(void *));
        if (more == NULL) {
            return;
        }
        g->member = more;
        g->room = room;
    }
    g->member[g->count++] = thread;
}

static char *state_of(const json_t *thread) {
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    thread_text_state(out, thread);
    return fclose(out) == 0 ? text : NULL;
}

static char *stack_of(const struct dump_groups *g, const json_t *thread) {
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    thread_text_stack(out, g->page->report, json_object_get(thread, "stack"), g->page->options, g->hidden);
    return fclose(out) == 0 ? text : NULL;
}

/* ---- a group's line --------------------------------------------------------------------------- */

static bool same_name(const json_t *a, const json_t *b) {
    const char *x = value_text(a, "name"), *y = value_text(b, "name");
    return x == y || (x != NULL && y != NULL && strcmp(x, y) == 0);
}

/* ` "worker" (4712 4713 4714 ...)`: the members that have the name of member `first`. */
static void put_name(FILE *out, const struct dump_group *g, size_t first) {
    const char *name = value_text(g->member[first], "name");
    size_t count = 0;
    if (name != NULL) {
        fputs(" \"", out);
        sanitize_print(out, name);
        fputc('"', out);
    }
    for (size_t i = first; i < g->count; i++) {
        if (same_name(g->member[i], g->member[first]) && count++ < SHOWN) {
            fprintf(out, "%s%" PRId64, count == 1 ? " (" : " ", value_int(g->member[i], "tid"));
        }
    }
    fputs(count > SHOWN ? " ...)" : ")", out);
}

static bool is_new_name(const struct dump_group *g, size_t i) {
    for (size_t k = 0; k < i; k++) {
        if (same_name(g->member[k], g->member[i])) {
            return false;
        }
    }
    return true;
}

/* Each name with its numbers: the threads of a pool often have a name each. */
static void put_names(FILE *out, const struct dump_group *g) {
    size_t names = 0;
    for (size_t i = 0; i < g->count; i++) {
        if (is_new_name(g, i) && names++ < SHOWN) {
            fputs(names > 1 ? "," : "", out);
            put_name(out, g, i);
        }
    }
    if (names > SHOWN) {
        fprintf(out, " and %zu other name%s", names - SHOWN, cli_plural((int64_t)(names - SHOWN), "", "s"));
    }
}

struct range {
    double least, most;
    size_t count;
};

static struct range range_of(const struct dump_group *g, const char *member) {
    struct range r = {0};
    for (size_t i = 0; i < g->count; i++) {
        const json_t *number = json_object_get(g->member[i], member);
        double value = json_number_value(number);
        if (number != NULL) {
            r.least = r.count == 0 || value < r.least ? value : r.least;
            r.most = r.count == 0 || value > r.most ? value : r.most;
            r.count++;
        }
    }
    return r;
}

/* ", 45% CPU" of threads that run; ", for 7.5 s to 7.9 s" of those that wait. */
static void put_numbers(FILE *out, const struct dump_group *g) {
    struct range cpu = range_of(g, "cpu_percent"), still = range_of(g, "for_ns");
    char least[RENDER_DURATION_BYTES], most[RENDER_DURATION_BYTES];
    if (cpu.count == g->count && cpu.least >= THREAD_TEXT_CPU_LEAST) {
        fputs(", ", out);
        if (cpu.most - cpu.least >= 1) {
            fprintf(out, "%.0f to ", cpu.least);
        }
        fprintf(out, "%.0f%% CPU", cpu.most);
    }
    if (still.count == g->count && still.most >= (double)FOR_LEAST_NS) {
        render_duration(least, (int64_t)still.least);
        render_duration(most, (int64_t)still.most);
        fputs(strchr(g->state, ',') != NULL ? "; for " : ", for ", out);
        if (strcmp(least, most) != 0) {
            fprintf(out, "%s to ", least);
        }
        fputs(most, out);
    }
}

/* `3 threads "worker" (4712 4713 4714)  each waits in futex, for 7.9 s` */
static char *group_line(const struct dump_groups *groups, const struct dump_group *g) {
    const json_t *first = g->member[0];
    const char *name = value_text(first, "name");
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    if (g->count == 1) {
        fprintf(out, "thread %" PRId64, value_int(first, "tid"));
        fprintf(out, name != NULL ? " \"%s\"" : "", name);
        fputs(is_main(groups, first) ? " (main)" : "", out);
    } else {
        fprintf(out, "%zu threads", g->count);
        put_names(out, g);
    }
    fprintf(out, "  %s%s", g->count > 1 ? "each " : "", g->state);
    put_numbers(out, g);
    if (json_object_get(first, "cpu_percent") != NULL && json_object_get(first, "stack") == NULL) {
        fputs("; its stack: --running", out);
    }
    return fclose(out) == 0 ? text : NULL;
}

static void put_group(const struct dump_groups *groups, struct dump_group *g) {
    char *line = g->count != 0 ? group_line(groups, g) : NULL;
    if (line != NULL) {
        render_wrapped(groups->page, "", "", 4, line);
        fputs(g->stack, groups->page->out);
    }
    free(line);
    free(g->state);
    free(g->stack);
    free(g->member);
}

void dump_groups_put(struct dump_groups *groups, const json_t *threads) {
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        struct dump_group *g =
            group_of(groups, state_of(thread), stack_of(groups, thread), is_main(groups, thread));
        if (g != NULL) {
            add_member(g, thread);
        }
    }
    for (size_t i = 0; i < groups->count; i++) {
        put_group(groups, &groups->item[i]);
    }
    free(groups->item);
    *groups = (struct dump_groups){.page = groups->page, .hidden = groups->hidden};
}
