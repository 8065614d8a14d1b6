/* SPDX-License-Identifier: MIT */
#include "costly_reports.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT_CHARS 1000

double costly_cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static json_t *long_text(const char *start, char fill, size_t chars) {
    char *text = malloc(chars + 1);
    size_t n = strlen(start);
    memset(text, fill, chars);
    memcpy(text, start, n < chars ? n : chars);
    text[chars] = '\0';
    json_t *value = json_string(text);
    free(text);
    return value;
}

/* What every report has; the modules are the program and a library. */
static json_t *start(void) {
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:b, s:{s:s, s:s, s:i, s:s}, s:{s:s, s:s}, s:{},"
                     " s:{s:s, s:i}, s:[{s:s, s:s, s:i}, {s:s, s:s, s:i}]}",
                     "format", "hangdog-report/1", "id", "01990000-0000-7000-8000-000000000001", "kind",
                     "hang", "started_at", "2026-01-31T12:00:00.000000000Z", "duration_ns",
                     (json_int_t)3000000000, "complete", 1, "app", "name", "shop", "executable", "shop",
                     "pid", 1, "version", "1", "host", "os", "linux", "arch", "x86_64", "process", "loop",
                     "name", "main", "tid", 1, "modules", "path", "/opt/shop/shop", "base", "0x1000", "size",
                     4096, "path", "/opt/shop/libcart.so", "base", "0x100000", "size", 4096);
}

/* A function of the program's own library, another one for each number. */
static json_t *frame(size_t number) {
    return json_pack("{s:o, s:i, s:o, s:o}", "pc", json_sprintf("0x%zx", 0x100000 + number), "module", 1,
                     "offset", json_sprintf("0x%zx", number), "function", json_sprintf("f%zu", number));
}

static json_t *frames(size_t first, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, frame(first + i));
    }
    return list;
}

static void set_hot_stack(json_t *report, json_t *list) {
    json_object_set_new(report, "hot_stack", json_pack("{s:o, s:f}", "frames", list, "share", 1.0));
}

static void set_tree(json_t *report, json_t *list, json_t *nodes) {
    json_object_set_new(report, "samples",
                        json_pack("{s:{s:o, s:o}}", "tree", "frames", list, "nodes", nodes));
}

static json_t *node(size_t frame_index, json_int_t parent, json_int_t ms) {
    return json_pack("{s:I, s:I, s:I}", "frame", (json_int_t)frame_index, "parent", parent, "time_ns",
                     ms * 1000000);
}

/* Threads with stacks of their own. */
static void set_threads(json_t *report, size_t count, size_t deep) {
    json_t *threads = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(threads, json_pack("{s:I, s:o, s:s, s:{s:o}}", "tid", (json_int_t)i + 1, "name",
                                                 json_sprintf("worker-%zu", i), "state", "blocked", "stack",
                                                 "frames", frames(i * deep, deep)));
    }
    json_object_set_new(report, "threads", threads);
}

/* Each thread of the ring has the stack with the most frames. */
static json_t *make_ring(void) {
    json_t *report = start(), *ring = json_array();
    for (int i = 0; i < 4000; i++) {
        json_array_append_new(ring, json_integer(1));
    }
    json_object_set_new(report, "cause", json_pack("{s:s, s:o}", "kind", "lock", "deadlock", ring));
    json_t *list = json_array();
    for (int i = 0; i < 4000; i++) {
        json_array_append_new(list, json_pack("{s:s}", "pc", "0x1"));
    }
    set_hot_stack(report, list);
    return report;
}

static json_t *make_threads(void) {
    json_t *report = start();
    set_threads(report, 10000, 1);
    return report;
}

/* As many frames as a report may have, in threads. */
static json_t *make_crowd(void) {
    json_t *report = start();
    set_threads(report, 3000, 30);
    return report;
}

/* A stack's shares need the whole time that has stacks: of the tree and of the timeline. */
static json_t *make_shares(void) {
    json_t *report = start(), *nodes = json_array();
    for (int i = 0; i < 8000; i++) {
        json_array_append_new(nodes, node(0, -1, 1));
    }
    set_tree(report, frames(0, 1), nodes);
    set_threads(report, 8000, 1);
    return report;
}

/* Each function of the hot stack is looked for among all nodes, and each has many others at its side. */
static json_t *make_branches(void) {
    json_t *report = start(), *nodes = json_array(), *list = json_array();
    for (size_t i = 0; i < 8000; i++) {
        bool hot = i < 500;
        json_array_append_new(
            nodes, node(hot ? i : 500 + i % 100, hot ? (json_int_t)i - 1 : (json_int_t)i % 500, 900));
    }
    set_tree(report, frames(0, 600), nodes);
    for (size_t i = 500; i > 0; i--) {
        json_t *one = frame(i - 1);
        json_object_set_new(one, "share", json_real(0.9));
        json_array_append_new(list, one);
    }
    set_hot_stack(report, list);
    return report;
}

/* Every node is a leaf of its own with as many callers as a stack may have. */
static json_t *make_deep(void) {
    json_t *report = start(), *nodes = json_array();
    for (size_t i = 0; i < 8000; i++) {
        json_int_t parent = i == 0 ? -1 : i < 1000 ? (json_int_t)i - 1 : 998;
        json_array_append_new(nodes, node(i % 4000, parent, i < 1000 ? 100000 - (json_int_t)i : 1));
    }
    set_tree(report, frames(0, 4000), nodes);
    return report;
}

/* One function calls very many. */
static json_t *make_wide(void) {
    json_t *report = start(), *nodes = json_array();
    for (size_t i = 0; i < 8000; i++) {
        json_array_append_new(nodes, node(i, i == 0 ? -1 : 0, 1));
    }
    set_tree(report, frames(0, 8000), nodes);
    return report;
}

/* Each sample has the deepest stack. */
static json_t *make_timeline(void) {
    json_t *report = start(), *timeline = json_array();
    for (int i = 0; i < 4000; i++) {
        json_array_append_new(timeline,
                              json_pack("{s:I, s:i, s:i, s:s}", "at_ns", (json_int_t)i * 1000000, "for_ns",
                                        1000000, "stack", 0, "state", i % 2 ? "running" : "blocked"));
    }
    json_object_set_new(
        report, "samples",
        json_pack("{s:[{s:o}], s:o}", "stacks", "frames", frames(0, 1000), "timeline", timeline));
    return report;
}

/* Each frame's module has a long path, and each name is long. */
static json_t *make_texts(void) {
    json_t *report = start(), *list = json_array(), *modules = json_object_get(report, "modules");
    json_object_set_new(json_array_get(modules, 1), "path", long_text("/opt/shop/", '/', TEXT_CHARS));
    for (size_t i = 0; i < 4000; i++) {
        json_t *one = frame(i);
        json_object_set_new(one, "function", long_text("f<", '<', TEXT_CHARS));
        json_array_append_new(list, one);
    }
    set_hot_stack(report, list);
    return report;
}

/* The cause's sentence mentions many threads. */
static json_t *make_mentions(void) {
    json_t *report = start();
    static const char mention[] = "thread 9 ";
    char *text = calloc(1, 16384);
    for (size_t i = 0; i < 1500; i++) {
        memcpy(text + i * (sizeof mention - 1), mention, sizeof mention);
    }
    set_threads(report, 10000, 0);
    json_object_set_new(report, "cause", json_pack("{s:s, s:s}", "kind", "lock", "detail", text));
    free(text);
    return report;
}

/* All nodes wait for a condition with many callers. */
static json_t *make_gil(void) {
    json_t *report = start(), *nodes = json_array(), *list = json_array();
    for (int i = 0; i < 8000; i++) {
        json_array_append_new(nodes, node(i == 0 ? 0 : 1, i < 64 ? i - 1 : 63, 1));
    }
    json_array_append_new(list, json_pack("{s:s, s:i, s:s}", "pc", "0x1", "module", 1, "function", "take"));
    json_array_append_new(
        list, json_pack("{s:s, s:i, s:s}", "pc", "0x1", "module", 1, "function", "pthread_cond_timedwait"));
    set_tree(report, list, nodes);
    json_object_set_new(report, "cause",
                        json_pack("{s:s, s:s, s:s}", "kind", "lock", "syscall", "futex", "detail", "waited"));
    set_hot_stack(report, frames(0, 1));
    return report;
}

const struct costly costly_reports[] = {
    {"ring", make_ring},         {"threads", make_threads}, {"shares", make_shares},
    {"branches", make_branches}, {"deep", make_deep},       {"wide", make_wide},
    {"timeline", make_timeline}, {"texts", make_texts},     {"mentions", make_mentions},
    {"gil", make_gil},           {"crowd", make_crowd},     {NULL, NULL},
};

json_t *costly_report(const char *name) {
    size_t i = 0;
    while (costly_reports[i].name != NULL && strcmp(costly_reports[i].name, name) != 0) {
        i++;
    }
    return costly_reports[i].name != NULL ? costly_reports[i].make() : NULL;
}
