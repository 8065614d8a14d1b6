/* SPDX-License-Identifier: MIT */
#include "cli/live/dump_tasks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN = 3,  /* names of a group */
    LEVELS = 8, /* of the tree */
    INDENT = 2,
    TASKS = 1024, /* of one loop */
    NONE = UINT16_MAX
};

struct tree {
    const struct page *page;
    const json_t *tasks;
    size_t *hidden;
    size_t count;
    uint16_t group[TASKS]; /* of equal tasks: the index of the first; NONE: not yet printed */
};

static const json_t *task_at(const struct tree *t, size_t i) {
    return json_array_get(t->tasks, i);
}

static size_t index_of(const struct tree *t, const char *id) {
    for (size_t i = 0; id != NULL && i < t->count; i++) {
        const char *other = value_text(task_at(t, i), "id");
        if (other != NULL && strcmp(other, id) == 0) {
            return i;
        }
    }
    return t->count;
}

static const char *name_of(const struct tree *t, size_t i) {
    const char *name = value_text(task_at(t, i), "name");
    return name != NULL ? name : "without a name";
}

/* ---- groups ----------------------------------------------------------------------------------- */

static bool has_same(const json_t *a, const json_t *b, const char *member) {
    const json_t *x = json_object_get(a, member), *y = json_object_get(b, member);
    return x == y || json_equal(x, y);
}

/* Two tasks that do the same, and wait for the same sort of object. */
static bool is_alike(const struct tree *t, size_t a, size_t b) {
    const json_t *x = task_at(t, a), *y = task_at(t, b);
    return has_same(x, y, "state") && has_same(x, y, "frames") &&
           has_same(json_object_get(x, "waits_for"), json_object_get(y, "waits_for"), "type") &&
           has_same(json_object_get(x, "waits_for"), json_object_get(y, "waits_for"), "holder");
}

static size_t members(const struct tree *t, size_t first) {
    size_t n = 0;
    for (size_t i = first; i < t->count; i++) {
        n += t->group[i] == first;
    }
    return n;
}

/* All members wait for one object. */
static bool is_one_object(const struct tree *t, size_t first) {
    const json_t *wait = json_object_get(task_at(t, first), "waits_for");
    for (size_t i = first + 1; i < t->count; i++) {
        if (t->group[i] == first && !has_same(wait, json_object_get(task_at(t, i), "waits_for"), "address")) {
            return false;
        }
    }
    return json_object_get(wait, "address") != NULL;
}

/* ---- text ------------------------------------------------------------------------------------- */

static const char *article(const char *type) {
    return strchr("AEIOUaeiou", type[0]) != NULL ? "an" : "a";
}

static void put_wait(const struct tree *t, FILE *out, size_t first, size_t count) {
    const json_t *wait = json_object_get(task_at(t, first), "waits_for");
    const char *type = value_text(wait, "type"), *address = value_text(wait, "address");
    const char *verb = count == 1 ? "waits for" : "wait for";
    size_t other = index_of(t, address), holder = index_of(t, value_text(wait, "holder"));
    if (type == NULL || strcmp(type, "sleep") == 0) {
        fputs(type == NULL ? count == 1 ? "waits" : "wait" : count == 1 ? "sleeps" : "sleep", out);
    } else if (other < t->count) {
        fprintf(out, "%s task ", verb);
        sanitize_print(out, name_of(t, other));
    } else if (address == NULL) {
        fprintf(out, "%s in ", count == 1 ? "waits" : "wait");
        sanitize_print(out, type);
    } else {
        bool one = count > 1 && is_one_object(t, first);
        fprintf(out, "%s%s %s ", count > 1 && !one ? "each " : "", count > 1 && !one ? "waits for" : verb,
                one ? "one" : article(type));
        sanitize_print(out, type);
    }
    if (holder < t->count) {
        fputs(", which task ", out);
        sanitize_print(out, name_of(t, holder));
        fputs(" has", out);
    }
}

static void put_state(const struct tree *t, FILE *out, size_t first, size_t count) {
    const char *state = value_text(task_at(t, first), "state");
    bool one = count == 1;
    if (state != NULL && strcmp(state, "waits") == 0) {
        put_wait(t, out, first, count);
    } else if (state != NULL && strcmp(state, "runs") == 0) {
        fputs(one ? "runs" : "run", out);
    } else {
        fputs(one ? "has not started" : "have not started", out);
    }
}

/* `5 tasks (Task-3 Task-4 Task-5 ...)  wait for one Lock, which task Task-2 has` */
static void put_line(const struct tree *t, FILE *out, size_t first) {
    size_t count = members(t, first), shown = 0;
    if (count == 1) {
        fputs("task ", out);
        sanitize_print(out, name_of(t, first));
    } else {
        fprintf(out, "%zu tasks", count);
    }
    for (size_t i = first; count > 1 && i < t->count && shown < SHOWN; i++) {
        if (t->group[i] == first) {
            fputs(shown++ == 0 ? " (" : " ", out);
            sanitize_print(out, name_of(t, i));
        }
    }
    fputs(count == 1 ? "  " : count > SHOWN ? " ...)  " : ")  ", out);
    put_state(t, out, first, count);
}

/* Prints each line of the text further in. */
static void put_indented(const struct page *p, int indent, char *text) {
    for (char *line = text, *end; *line != '\0'; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        fprintf(p->out, "%*s%.*s", indent, "", (int)(end - line), line);
    }
}

static void put_group(const struct tree *t, size_t first, int indent) {
    char *text = NULL;
    size_t bytes;
    struct page q = *t->page;
    struct render_options options = *t->page->options;
    options.width = options.width > indent + 40 ? options.width - indent : options.width;
    q.options = &options;
    q.out = open_memstream(&text, &bytes);
    if (q.out == NULL) {
        return;
    }
    char *line = NULL;
    FILE *out = open_memstream(&line, &bytes);
    if (out != NULL) {
        put_line(t, out, first);
        fclose(out);
        render_wrapped(&q, "", "", 4, line);
        free(line);
    }
    const json_t *frames = json_object_get(task_at(t, first), "frames");
    if (json_array_size(frames) != 0) {
        if (options.all_frames) {
            render_stack(&q, task_at(t, first), false);
        } else {
            size_t hidden = 0;
            render_own_frames(&q, frames, &hidden);
            *t->hidden += hidden;
        }
    }
    if (fclose(q.out) == 0) {
        put_indented(t->page, indent, text);
    }
    free(text);
}

/* ---- the tree --------------------------------------------------------------------------------- */

/* Whether the task is awaited by a task of this group, or of NONE by no task. */
static bool is_child(const struct tree *t, size_t i, uint16_t parent) {
    size_t awaiter = index_of(t, value_text(task_at(t, i), "awaited_by"));
    return awaiter < t->count ? parent != NONE && t->group[awaiter] == parent : parent == NONE;
}

/* Prints the groups of the tasks that a group awaits, and below each what that one awaits. */
static void put_level(struct tree *t, uint16_t parent, unsigned level) {
    uint16_t fresh[TASKS];
    size_t n = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (t->group[i] == NONE && is_child(t, i, parent)) {
            fresh[n++] = (uint16_t)i;
        }
    }
    for (size_t k = 0; k < n; k++) {
        size_t first = 0;
        while (first < k && !is_alike(t, fresh[first], fresh[k])) {
            first++;
        }
        t->group[fresh[k]] = first < k ? t->group[fresh[first]] : fresh[k];
    }
    for (size_t k = 0; k < n; k++) {
        if (t->group[fresh[k]] == fresh[k]) {
            put_group(t, fresh[k], (int)(INDENT * level));
            if (level < LEVELS) {
                put_level(t, fresh[k], level + 1);
            }
        }
    }
}

static void put_loop(const struct page *p, const json_t *loop, size_t *hidden) {
    static struct tree t;
    t = (struct tree){.page = p, .tasks = json_object_get(loop, "tasks"), .hidden = hidden};
    size_t all = json_array_size(t.tasks);
    int64_t tid = value_int(loop, "tid");
    t.count = all < TASKS ? all : TASKS;
    memset(t.group, 0xff, sizeof t.group);
    fprintf(p->out, "%sevent loop", p->style.bold);
    fprintf(p->out, tid != 0 ? " of thread %" PRId64 : "", tid);
    fprintf(p->out, ", %zu task%s%s\n", all, all == 1 ? "" : "s", p->style.end);
    put_level(&t, NONE, 1);
    for (size_t i = 0; i < t.count; i++) { /* tasks that await each other, and what is deeper */
        if (t.group[i] == NONE) {
            t.group[i] = (uint16_t)i;
            put_group(&t, i, INDENT);
        }
    }
}

void dump_tasks(const struct page *p, size_t *hidden) {
    const json_t *loops = json_object_get(p->report, "event_loops");
    for (size_t i = 0; i < json_array_size(loops); i++) {
        put_loop(p, json_array_get(loops, i), hidden);
    }
    int64_t more = value_int(p->report, "tasks_left_out");
    if (more > 0) {
        fprintf(p->out, "(%" PRId64 " more task%s left out)\n", more, cli_plural(more, "", "s"));
    }
}
