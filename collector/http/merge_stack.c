/* SPDX-License-Identifier: MIT */
#include "collector/http/merge_stack.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/reader/frame_origin.h"
#include "collector/report/fast_parse.h"
#include "collector/report/frame_name.h"

#define NODES_MAX 4000
#define NODES_OF_A_REPORT_MAX 4000
#define NS_MAX (INT64_C(86400000000000) * 366)
/* Of all reports; they are ten times what 50 large ones have. */
#define STEPS_MAX 1000000 /* a hostile one has names with equal hashes, and deep recursions */
#define NODES_OF_ALL_MAX 100000
#define TEXT_BYTES_MAX ((size_t)8 << 20)
#define FAST 5      /* times as fast as json_loadb */
#define SLOTS 16384 /* a power of two; four times NODES_MAX */

struct node {
    char name[FRAME_NAME_BYTES];
    char place[128], module[64];
    bool own;
    uint32_t hash;              /* of the function's name */
    int parent, child, sibling; /* -1: none */
    int64_t ns;
};

struct merge_stack {
    struct node node[NODES_MAX];
    int slot[SLOTS]; /* by caller and name: a node's index + 1, 0: free */
    int count, root, reports, steps, nodes_left;
    const struct schema_rule *rule;
    size_t text_bytes;
    int64_t total_ns;
    double factor;                    /* of each time of the report */
    int index[NODES_OF_A_REPORT_MAX]; /* of a report's node: ours, -1: left out */
};

struct merge_stack *merge_stack_new(const struct schema_rule *rule) {
    struct merge_stack *m = calloc(1, sizeof *m);
    if (m != NULL) {
        m->root = -1;
        m->rule = rule;
        m->nodes_left = NODES_OF_ALL_MAX;
    }
    return m;
}

static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 16777619U;
    }
    return hash;
}

static int *first_below(struct merge_stack *m, int parent) {
    return parent < 0 ? &m->root : &m->node[parent].child;
}

/* The place of the function's node below `parent`, or a free one. */
static int *find_slot(struct merge_stack *m, int parent, const char *name, uint32_t hash) {
    uint32_t at = hash ^ ((uint32_t)parent * 2654435761U);
    for (;; at++) {
        int *slot = &m->slot[at % SLOTS];
        const struct node *n = &m->node[*slot > 0 ? *slot - 1 : 0];
        m->steps++;
        if (*slot == 0 || (n->parent == parent && n->hash == hash && strcmp(n->name, name) == 0)) {
            return slot;
        }
    }
}

/* The node of this function below `parent`, with this time more; it is made from `like` where it is new.
 * -1: there are too many. */
static int step_down(struct merge_stack *m, int parent, const struct node *like, int64_t ns) {
    if (m->steps > STEPS_MAX) {
        return -1;
    }
    int *slot = find_slot(m, parent, like->name, like->hash);
    if (*slot == 0) {
        if (m->count == NODES_MAX) {
            return -1;
        }
        int *first = first_below(m, parent);
        m->node[m->count] = *like;
        m->node[m->count].parent = parent;
        m->node[m->count].child = -1;
        m->node[m->count].sibling = *first;
        m->node[m->count].ns = 0;
        *first = m->count++;
        *slot = m->count;
    }
    m->node[*slot - 1].ns += ns;
    return *slot - 1;
}

/* Where the function is. */
static void set_place(struct node *n, const json_t *report, const json_t *frame) {
    const char *file = base_name(json_string_value(json_object_get(frame, "file")));
    const char *module =
        base_name(json_string_value(json_object_get(report_frame_module(report, frame), "path")));
    json_int_t line = json_integer_value(json_object_get(frame, "line"));
    n->own = report_frame_is_own(report, frame);
    if (file != NULL) {
        snprintf(n->place, sizeof n->place, "%.100s:%lld", file, (long long)line);
    }
    snprintf(n->module, sizeof n->module, "%s", module != NULL ? module : "");
    frame_name_mend(n->place);
    frame_name_mend(n->module);
}

/* The node of this frame below `parent`, with this time more. -1: there are too many. */
static int add_node(struct merge_stack *m, int parent, const json_t *report, const json_t *frame,
                    int64_t ns) {
    struct node like = {.hash = 0};
    int before = m->count;
    if (m->nodes_left == 0) {
        return -1;
    }
    m->nodes_left--;
    frame_name(report, frame, like.name);
    frame_name_show(like.name);
    like.hash = hash_of(like.name);
    int at = step_down(m, parent, &like, (int64_t)((double)ns * m->factor));
    if (m->count > before) {
        set_place(&m->node[at], report, frame);
    }
    return at;
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

/* The fast way, which leaves out what no merge needs, for a fifth of the price. */
static json_t *parse(struct merge_stack *m, const char *text, size_t bytes) {
    if (m->nodes_left == 0 || m->text_bytes + bytes / FAST > TEXT_BYTES_MAX) {
        return NULL;
    }
    json_t *report = m->rule != NULL ? fast_parse(m->rule, text, bytes) : NULL;
    m->text_bytes += bytes / FAST;
    if (report == NULL && m->text_bytes + bytes <= TEXT_BYTES_MAX) {
        m->text_bytes += bytes;
        report = json_loadb(text, bytes, 0, NULL);
    }
    return report;
}

static void add_report(struct merge_stack *m, const char *text, size_t bytes, int64_t as_ns) {
    json_t *report = parse(m, text, bytes);
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
    struct merge_stack *inverted = merge_stack_new(NULL);
    for (int i = 0; inverted != NULL && i < m->count; i++) {
        int64_t self = m->node[i].ns;
        for (int child = m->node[i].child; child >= 0; child = m->node[child].sibling) {
            self -= m->node[child].ns;
        }
        int parent = -1;
        for (int at = i; at >= 0 && self > 0; at = m->node[at].parent) {
            parent = step_down(inverted, parent, &m->node[at], self);
            if (parent < 0) {
                break;
            }
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
