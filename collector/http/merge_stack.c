/* SPDX-License-Identifier: MIT */
#include "collector/http/merge_stack.h"

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
/* Of all reports: a hostile one has many functions with one caller. */
#define COMPARES_MAX 20000000
#define TEXT_BYTES_MAX ((size_t)64 << 20)

struct node {
    char name[FRAME_NAME_BYTES];
    char place[128], module[64];
    bool own;
    int parent, child, sibling; /* -1: none */
    int64_t ns;
};

struct merge_stack {
    struct node node[NODES_MAX];
    int count, root, reports, compares;
    size_t text_bytes;
    int64_t total_ns;
    double factor;                    /* of each time of the report */
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

/* The node of this function below `parent`, with this time more. -1: there is none. */
static int find_node(struct merge_stack *m, int parent, const char *name, int64_t ns) {
    for (int i = *first_below(m, parent); i >= 0; i = m->node[i].sibling) {
        m->compares++;
        if (strcmp(m->node[i].name, name) == 0) {
            m->node[i].ns += ns;
            return i;
        }
    }
    return -1;
}

/* A node below `parent`, whose name and place the caller sets. NULL: there are too many. */
static struct node *new_node(struct merge_stack *m, int parent, int64_t ns) {
    if (m->count == NODES_MAX || m->compares > COMPARES_MAX) {
        return NULL;
    }
    int *first = first_below(m, parent);
    struct node *n = &m->node[m->count];
    *n = (struct node){.parent = parent, .child = -1, .sibling = *first, .ns = ns};
    *first = m->count++;
    return n;
}

/* The node of this function below `parent`, with this time more. -1: there are too many. */
static int add_node(struct merge_stack *m, int parent, const json_t *report, const json_t *frame,
                    int64_t ns) {
    char name[FRAME_NAME_BYTES];
    frame_name(report, frame, name);
    ns = (int64_t)((double)ns * m->factor);
    int found = find_node(m, parent, name, ns);
    struct node *n = found < 0 ? new_node(m, parent, ns) : NULL;
    if (n == NULL) {
        return found;
    }
    const char *file = base_name(json_string_value(json_object_get(frame, "file")));
    const char *module =
        base_name(json_string_value(json_object_get(report_frame_module(report, frame), "path")));
    json_int_t line = json_integer_value(json_object_get(frame, "line"));
    n->own = report_frame_is_own(report, frame);
    memcpy(n->name, name, sizeof n->name);
    if (file != NULL) {
        snprintf(n->place, sizeof n->place, "%.100s:%lld", file, (long long)line);
    }
    snprintf(n->module, sizeof n->module, "%s", module != NULL ? module : "");
    frame_name_mend(n->place);
    frame_name_mend(n->module);
    return (int)(n - m->node);
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

static void add_report(struct merge_stack *m, const char *text, size_t bytes, int64_t as_ns) {
    m->text_bytes += bytes;
    json_t *report = m->text_bytes <= TEXT_BYTES_MAX ? json_loadb(text, bytes, 0, NULL) : NULL;
    if (report == NULL) {
        return;
    }
    const json_t *tree = json_object_get(json_object_get(report, "samples"), "tree");
    int64_t ns = time_of(report, "duration_ns");
    m->factor = as_ns >= 0 && ns > 0 ? (double)as_ns / (double)ns : 1;
    if (json_array_size(json_object_get(tree, "nodes")) > 0) {
        add_tree(m, report, tree);
    } else {
        add_hot_stack(m, report, ns);
    }
    m->total_ns += (int64_t)((double)ns * m->factor);
    m->reports++;
    json_decref(report);
}

void merge_stack_add(void *merge, const char *text, size_t bytes) {
    add_report(merge, text, bytes, -1);
}

void merge_stack_add_as(struct merge_stack *m, const char *text, size_t bytes, int64_t as_ms) {
    add_report(m, text, bytes, as_ms < 0 ? 0 : as_ms * 1000000);
}

struct merge_stack *merge_stack_invert(struct merge_stack *m) {
    struct merge_stack *inverted = merge_stack_new();
    for (int i = 0; inverted != NULL && i < m->count; i++) {
        int64_t self = m->node[i].ns;
        for (int child = m->node[i].child; child >= 0; child = m->node[child].sibling) {
            self -= m->node[child].ns;
        }
        int parent = -1;
        for (int at = i; at >= 0 && self > 0; at = m->node[at].parent) {
            int found = find_node(inverted, parent, m->node[at].name, self);
            struct node *n = found < 0 ? new_node(inverted, parent, self) : NULL;
            if (found < 0 && n == NULL) {
                break;
            }
            if (n != NULL) {
                memcpy(n->name, m->node[at].name, sizeof n->name);
                memcpy(n->place, m->node[at].place, sizeof n->place);
                memcpy(n->module, m->node[at].module, sizeof n->module);
                n->own = m->node[at].own;
            }
            parent = found >= 0 ? found : (int)(n - inverted->node);
        }
    }
    if (inverted != NULL) {
        inverted->reports = m->reports;
        inverted->total_ns = m->total_ns;
    }
    free(m);
    return inverted;
}

json_t *merge_stack_end(struct merge_stack *m) {
    json_t *all = json_object(), *nodes = json_array();
    for (int i = 0; i < m->count; i++) {
        const struct node *n = &m->node[i];
        json_array_append_new(nodes, json_pack("{s:s, s:s, s:s, s:b, s:i, s:I}", "name", n->name, "place",
                                               n->place, "module", n->module, "own", n->own, "parent",
                                               n->parent, "ms", (json_int_t)(n->ns / 1000000)));
    }
    json_object_set_new(all, "reports", json_integer(m->reports));
    json_object_set_new(all, "total_ms", json_integer(m->total_ns / 1000000));
    json_object_set_new(all, "nodes", nodes);
    free(m);
    return all;
}
