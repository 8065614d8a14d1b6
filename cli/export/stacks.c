/* SPDX-License-Identifier: MIT */
#include "cli/export/stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/reader/frame_origin.h"
#include "cli/reader/groups.h"
#include "cli/reader/report_load.h"
#include "cli/render/render_parts.h"

#define NS_PER_S 1000000000LL
#define ONE_SAMPLE_NS 1000000 /* of a stack without a time, in a report without an interval */

struct builder {
    const json_t *report;
    struct export_thread *thread;
    size_t capacity;    /* of the thread's stacks */
    size_t frames_left; /* of EXPORT_FRAMES_MAX, as cost_of counts them */
};

/* ---- values -------------------------------------------------------------------------------- */

int64_t export_number(const json_t *object, const char *name) {
    int64_t number = (int64_t)json_integer_value(json_object_get(object, name));
    return number > 0 ? number : 0;
}

uint64_t export_address(const json_t *object, const char *name) {
    return strtoull(report_text(object, name), NULL, 16);
}

int64_t export_started_ns(const json_t *report) {
    const char *text = report_text(report, "started_at");
    struct tm at = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &at);
    time_t s = rest != NULL ? timegm(&at) : 0;
    int64_t ns = 0;
    if (s <= 0 || s > INT64_MAX / NS_PER_S - 1) {
        return 0;
    }
    if (*rest == '.') {
        int64_t digit = NS_PER_S / 10;
        for (rest++; *rest >= '0' && *rest <= '9' && digit > 0; rest++, digit /= 10) {
            ns += (*rest - '0') * digit;
        }
    }
    return (int64_t)s * NS_PER_S + ns;
}

char *export_frame_name(const json_t *report, const json_t *frame) {
    const struct page p = {.report = report};
    if (frame == NULL) {
        return strdup("(no stack)");
    }
    return render_name(&p, frame, 0);
}

int64_t export_thread_ns(const struct export_thread *thread) {
    int64_t sum = 0;
    for (size_t i = 0; i < thread->count; i++) {
        sum = groups_add_times(sum, thread->stack[i].ns);
    }
    return sum;
}

char *export_thread_label(const struct export_thread *thread) {
    char *text = NULL;
    if (thread->name[0] != '\0') {
        return strdup(thread->name);
    }
    return asprintf(&text, "thread %lld", (long long)thread->tid) < 0 ? NULL : text;
}

/* ---- stacks -------------------------------------------------------------------------------- */

static bool take_thread(struct export_threads *t, struct builder *b, int64_t tid, const char *name) {
    struct export_thread *more = realloc(t->thread, (t->count + 1) * sizeof *more);
    if (more == NULL) {
        return false;
    }
    t->thread = more;
    b->thread = &more[t->count++];
    b->capacity = 0;
    *b->thread = (struct export_thread){.tid = tid, .name = name};
    return true;
}

/* Room for one more stack. NULL: no memory, or there are too many. */
static struct export_stack *next_stack(struct builder *b) {
    struct export_thread *t = b->thread;
    if (t->count == b->capacity) {
        size_t capacity = 2 * b->capacity + 8;
        struct export_stack *more = realloc(t->stack, capacity * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        t->stack = more;
        b->capacity = capacity;
    }
    return &t->stack[t->count];
}

/* As how many frames it counts: each format writes names, and files, for each stack or looks them up. */
static size_t cost_of(const json_t *frame) {
    return 1 + (json_string_length(json_object_get(frame, "function")) +
                json_string_length(json_object_get(frame, "file"))) /
                   EXPORT_NAME_CHARS;
}

/* The innermost frames of an array, without ours. False: no memory. */
static bool add_array(struct builder *b, const json_t *frames, int64_t at_ns, int64_t ns) {
    size_t n = json_array_size(frames);
    n = n < EXPORT_DEPTH_MAX ? n : EXPORT_DEPTH_MAX;
    struct export_stack *s = next_stack(b);
    const json_t **list = calloc(n + 1, sizeof(const json_t *));
    if (s == NULL || list == NULL) {
        free(list);
        return false;
    }
    *s = (struct export_stack){.frame = list, .at_ns = at_ns, .ns = ns};
    b->thread->count++;
    for (size_t i = 0; i < n && b->frames_left > 0; i++) {
        const json_t *frame = json_array_get(frames, i);
        if (json_is_object(frame) && !report_frame_is_ours(b->report, frame)) {
            size_t cost = cost_of(frame);
            list[s->count++] = frame;
            b->frames_left -= cost < b->frames_left ? cost : b->frames_left;
        }
    }
    return true;
}

/* ---- the watched thread --------------------------------------------------------------------- */

static bool add_timeline(struct builder *b, const json_t *samples) {
    const json_t *entry, *stacks = json_object_get(samples, "stacks");
    size_t i;
    json_array_foreach(json_object_get(samples, "timeline"), i, entry) {
        const json_t *index = json_object_get(entry, "stack");
        const json_t *stack = json_is_integer(index) && json_integer_value(index) >= 0
                                  ? json_array_get(stacks, (size_t)json_integer_value(index))
                                  : NULL;
        if (b->frames_left > 0 && !add_array(b, json_object_get(stack, "frames"),
                                             export_number(entry, "at_ns"), export_number(entry, "for_ns"))) {
            return false;
        }
    }
    return true;
}

/* The parent of a node, which stands before it; -1: none. */
static int64_t parent_of(const json_t *node, size_t index) {
    const json_t *parent = json_object_get(node, "parent");
    json_int_t at = json_is_integer(parent) ? json_integer_value(parent) : -1;
    return at >= 0 && (size_t)at < index ? at : -1;
}

static bool add_path(struct builder *b, const json_t *tree, size_t leaf, int64_t at_ns, int64_t ns) {
    const json_t *nodes = json_object_get(tree, "nodes"), *frames = json_object_get(tree, "frames");
    json_t *path = json_array();
    int64_t node = (int64_t)leaf;
    while (path != NULL && node >= 0 && json_array_size(path) < EXPORT_DEPTH_MAX) {
        const json_t *one = json_array_get(nodes, (size_t)node);
        json_array_append(path, json_array_get(frames, (size_t)export_number(one, "frame")));
        node = parent_of(one, (size_t)node);
    }
    bool well = path != NULL && add_array(b, path, at_ns, ns);
    json_decref(path); /* the frames are the report's */
    return well;
}

/* Adds the own time of each node, without its callees. The stacks are in the order of the tree. */
static bool add_tree(struct builder *b, const json_t *tree) {
    const json_t *nodes = json_object_get(tree, "nodes"), *node;
    size_t n = json_array_size(nodes), i;
    n = n < EXPORT_NODES_MAX ? n : EXPORT_NODES_MAX;
    int64_t *own = calloc(n + 1, sizeof *own), at = 0;
    bool well = own != NULL;
    json_array_foreach(nodes, i, node) {
        int64_t ns = export_number(node, "time_ns"), parent = parent_of(node, i);
        if (i == n) {
            break;
        }
        if (well) {
            own[i] = ns;
        }
        if (well && parent >= 0) {
            own[parent] -= ns < own[parent] ? ns : own[parent];
        }
    }
    for (i = 0; well && i < n && b->frames_left > 0; i++) {
        if (own[i] > 0) {
            well = add_path(b, tree, i, at, own[i]);
            at = groups_add_times(at, own[i]);
        }
    }
    free(own);
    return well;
}

static int64_t tree_ns(const json_t *tree) {
    const json_t *node;
    int64_t sum = 0;
    size_t i;
    json_array_foreach(json_object_get(tree, "nodes"), i, node) {
        if (parent_of(node, i) < 0) {
            sum = groups_add_times(sum, export_number(node, "time_ns"));
        }
    }
    return sum;
}

static int64_t timeline_ns(const json_t *samples) {
    const json_t *entry;
    int64_t sum = 0;
    size_t i;
    json_array_foreach(json_object_get(samples, "timeline"), i, entry) {
        sum = groups_add_times(sum, export_number(entry, "for_ns"));
    }
    return sum;
}

static int64_t one_sample_ns(const json_t *report) {
    int64_t ns = export_number(json_object_get(report, "samples"), "interval_ns");
    return ns > 0 ? ns : ONE_SAMPLE_NS;
}

/* The timeline has the order, and only the last samples of a long hang; the tree has all of them. */
static bool add_watched(struct builder *b) {
    const json_t *samples = json_object_get(b->report, "samples"), *tree = json_object_get(samples, "tree");
    const json_t *hot = json_object_get(b->report, "hot_stack");
    int64_t all = tree_ns(tree), last = timeline_ns(samples), ns;
    if (last > 0 && last >= all - all / 20) {
        return add_timeline(b, samples);
    }
    if (all > 0) {
        return add_tree(b, tree);
    }
    if (json_array_size(json_object_get(hot, "frames")) == 0) {
        return true;
    }
    ns = export_number(hot, "duration_ns");
    ns = ns > 0 ? ns : export_number(b->report, "duration_ns");
    return add_array(b, json_object_get(hot, "frames"), 0, ns > 0 ? ns : one_sample_ns(b->report));
}

static bool is_of_pool(const json_t *thread) {
    return json_is_true(json_object_get(thread, "pool"));
}

/* A stall's samples are of the pool's threads. Each of them has a stack and a time of its own in the report.
 * Returns the first of them; NULL: none. */
static const json_t *pool_thread(const json_t *report) {
    const json_t *thread;
    size_t i;
    json_array_foreach(json_object_get(report, "threads"), i, thread) {
        if (is_of_pool(thread) && export_number(thread, "for_ns") > 0 &&
            json_array_size(json_object_get(json_object_get(thread, "stack"), "frames")) > 0) {
            return thread;
        }
    }
    return NULL;
}

int64_t export_tid(const json_t *report) {
    const json_t *thread = pool_thread(report);
    return export_number(thread != NULL ? thread : json_object_get(report, "loop"), "tid");
}

static int64_t watched_tid(const json_t *report) {
    static const char *const members[] = {"cpu", "crash", "loop"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const json_t *of = json_object_get(report, members[i]);
        if (json_is_integer(json_object_get(of, "tid"))) {
            return export_number(of, "tid");
        }
    }
    return export_number(json_object_get(report, "app"), "pid");
}

static const char *watched_name(const json_t *report, int64_t tid) {
    const json_t *thread;
    size_t i;
    json_array_foreach(json_object_get(report, "threads"), i, thread) {
        if (export_number(thread, "tid") == tid && report_text(thread, "name")[0] != '\0') {
            return report_text(thread, "name");
        }
    }
    return report_text(json_object_get(report, "loop"), "name");
}

/* ---- all threads ---------------------------------------------------------------------------- */

static bool add_others(struct export_threads *t, struct builder *b, int64_t watched) {
    const json_t *thread;
    size_t i;
    if (frame_origin_is_elsewhere() && b->frames_left > EXPORT_OTHERS_FRAMES_MAX) {
        b->frames_left = EXPORT_OTHERS_FRAMES_MAX;
    }
    json_array_foreach(json_object_get(t->report, "threads"), i, thread) {
        const json_t *frames = json_object_get(json_object_get(thread, "stack"), "frames");
        int64_t tid = export_number(thread, "tid");
        if (json_array_size(frames) == 0 || tid == watched || b->frames_left == 0 ||
            t->count == EXPORT_THREADS_MAX) {
            continue;
        }
        int64_t ns = export_number(thread, "for_ns");
        bool timed = is_of_pool(thread) && ns > 0;
        if (!take_thread(t, b, tid, report_text(thread, "name")) ||
            !add_array(b, frames, 0, timed ? ns : one_sample_ns(t->report))) {
            return false;
        }
        b->thread->timed = timed;
    }
    return true;
}

bool export_threads_read(const json_t *report, struct export_threads *out) {
    struct builder b = {.report = report, .frames_left = EXPORT_FRAMES_MAX};
    int64_t tid = watched_tid(report);
    *out = (struct export_threads){.report = report};
    if (pool_thread(report) != NULL) {
        return add_others(out, &b, -1);
    }
    if (!take_thread(out, &b, tid, watched_name(report, tid)) || !add_watched(&b)) {
        return false;
    }
    b.thread->watched = true;
    if (b.thread->count == 0) { /* a live report has the stacks of all threads, and no samples */
        out->count = 0;
        tid = -1;
    }
    return add_others(out, &b, tid);
}

void export_threads_free(struct export_threads *t) {
    for (size_t i = 0; i < t->count; i++) {
        for (size_t k = 0; k < t->thread[i].count; k++) {
            free(t->thread[i].stack[k].frame);
        }
        free(t->thread[i].stack);
    }
    free(t->thread);
    *t = (struct export_threads){0};
}
