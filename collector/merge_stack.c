/* SPDX-License-Identifier: MIT */
#include "collector/merge_stack.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/reader/frame_origin.h"
#include "collector/report/frame_name.h"

#define NODES_MAX 4000
#define NODES_OF_A_REPORT_MAX 4000
#define NS_MAX (INT64_C(86400000000000) * 366)

struct node {
    char name[FRAME_NAME_BYTES];
    char place[128];
    bool own;
    int parent, child, sibling; /* -1: none */
    int64_t ns;
};

struct merge_stack {
    struct node node[NODES_MAX];
    int count, root, reports;
    int64_t total_ns;
    int index[NODES_OF_A_REPORT_MAX]; /* of a report's node: ours, -1: left out */
};

struct merge_stack *merge_stack_new(void) {
    struct merge_stack *m = calloc(1, sizeof *m);
    if (m != NULL) {
        m->root = -1;
    }
    return m;
}

static int *first_below(struct merge_stack *m, int parent) {
    return parent < 0 ? &m->root : &m->node[parent].child;
}

/* The node of this function below `parent`, with this time more. -1: there are too many. */
static int add_node(struct merge_stack *m, int parent, const json_t *report, const json_t *frame,
                    int64_t ns) {
    char name[FRAME_NAME_BYTES];
    frame_name(report, frame, name);
    int *first = first_below(m, parent);
    for (int i = *first; i >= 0; i = m->node[i].sibling) {
        if (strcmp(m->node[i].name, name) == 0) {
            m->node[i].ns += ns;
            return i;
        }
    }
    if (m->count == NODES_MAX) {
        return -1;
    }
    struct node *n = &m->node[m->count];
    const char *file = base_name(json_string_value(json_object_get(frame, "file")));
    json_int_t line = json_integer_value(json_object_get(frame, "line"));
    *n = (struct node){.own = report_frame_is_own(report, frame),
                       .parent = parent,
                       .child = -1,
                       .sibling = *first,
                       .ns = ns};
    memcpy(n->name, name, sizeof n->name);
    if (file != NULL) {
        snprintf(n->place, sizeof n->place, "%.100s:%lld", file, (long long)line);
    }
    frame_name_mend(n->place);
    *first = m->count;
    return m->count++;
}

static int64_t time_of(const json_t *object, const char *name) {
    int64_t ns = json_integer_value(json_object_get(object, name));
    return ns < 0 || ns > NS_MAX ? 0 : ns;
}

static void add_tree(struct merge_stack *m, const json_t *report, const json_t *tree) {
    const json_t *frames = json_object_get(tree, "frames"), *nodes = json_object_get(tree, "nodes"), *node;
    size_t i;
    json_array_foreach(nodes, i, node) {
        if (i == NODES_OF_A_REPORT_MAX) {
            break;
        }
        json_int_t parent = json_integer_value(json_object_get(node, "parent"));
        json_int_t frame = json_integer_value(json_object_get(node, "frame"));
        const json_t *of = frame >= 0 ? json_array_get(frames, (size_t)frame) : NULL;
        bool below = parent >= 0 && parent < (json_int_t)i && m->index[parent] >= 0;
        m->index[i] = -1;
        if (of != NULL && (parent == -1 || below)) {
            m->index[i] = add_node(m, below ? m->index[parent] : -1, report, of, time_of(node, "time_ns"));
        }
    }
}

static void add_hot_stack(struct merge_stack *m, const json_t *report, int64_t ns) {
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    int parent = -1;
    for (size_t i = json_array_size(frames); i > 0; i--) {
        parent = add_node(m, parent, report, json_array_get(frames, i - 1), ns);
        if (parent < 0) {
            return;
        }
    }
}

void merge_stack_add(void *merge, const char *text, size_t bytes) {
    struct merge_stack *m = merge;
    json_t *report = json_loadb(text, bytes, 0, NULL);
    if (report == NULL) {
        return;
    }
    const json_t *tree = json_object_get(json_object_get(report, "samples"), "tree");
    int64_t ns = time_of(report, "duration_ns");
    if (json_array_size(json_object_get(tree, "nodes")) > 0) {
        add_tree(m, report, tree);
    } else {
        add_hot_stack(m, report, ns);
    }
    m->total_ns += ns;
    m->reports++;
    json_decref(report);
}

json_t *merge_stack_end(struct merge_stack *m) {
    json_t *all = json_object(), *nodes = json_array();
    for (int i = 0; i < m->count; i++) {
        const struct node *n = &m->node[i];
        json_array_append_new(nodes, json_pack("{s:s, s:s, s:b, s:i, s:I}", "name", n->name, "place",
                                               n->place, "own", n->own, "parent", n->parent, "ms",
                                               (json_int_t)(n->ns / 1000000)));
    }
    json_object_set_new(all, "reports", json_integer(m->reports));
    json_object_set_new(all, "total_ms", json_integer(m->total_ns / 1000000));
    json_object_set_new(all, "nodes", nodes);
    free(m);
    return all;
}
