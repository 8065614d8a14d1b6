/* SPDX-License-Identifier: MIT
 *
 * Where the hot stack is only one of several ways that the hang's time went: the other callees. Ordinary
 * code. Reports come from anywhere: what is missing or of another type reads as NULL, 0 or empty.
 */
#include "cli/reader/frame_origin.h"
#include "cli/reader/script_frames.h"
#include "cli/render/render_parts.h"
#include "cli/render/short_name.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES_MAX = 8192 /* four times what is written */,
    DEPTH_MAX = 512,
    SHOWN_MAX = 3,
    NAME_WIDTH = 32
};
#define SHARE_MIN 0.1

/* A node of the tree, read once: a hot stack has many functions, and each is looked for. */
struct node {
    json_int_t frame, ns;
    size_t parent;         /* SIZE_MAX: outermost, or damaged */
    size_t child, sibling; /* the first of each; SIZE_MAX: none */
};

struct branches {
    const json_t *frames; /* of the tree */
    size_t count, root;   /* nodes; the first outermost one */
    double all_ns;        /* of the hang, as the hot stack's shares have it */
    struct node *tree;
    size_t *node; /* of each frame of the hot stack; SIZE_MAX: inlined, or not found */
};

static const json_t *node_frame(const struct branches *f, size_t i) {
    json_int_t frame = f->tree[i].frame;
    return frame < 0 ? NULL : json_array_get(f->frames, (size_t)frame);
}

static bool is_equal(const json_t *a, const json_t *b, const char *name) {
    const json_t *one = json_object_get(a, name);
    return one != NULL && json_equal(one, json_object_get(b, name));
}

static bool is_same_function(const json_t *a, const json_t *b) {
    if (is_equal(a, b, "module") && json_object_get(a, "start") != NULL) {
        return is_equal(a, b, "start");
    }
    return is_equal(a, b, "pc") || (is_equal(a, b, "function") && is_equal(a, b, "file"));
}

static size_t first_below(const struct branches *f, size_t parent) {
    return parent == SIZE_MAX ? f->root : f->tree[parent].child;
}

/* A parent comes before it; a node without one that does is in no list, and is not found. */
static void read_nodes(struct branches *f, const json_t *nodes) {
    f->root = SIZE_MAX;
    for (size_t i = 0; i < f->count; i++) {
        const json_t *node = json_array_get(nodes, i);
        json_int_t parent = value_signed(node, "parent");
        f->tree[i] = (struct node){.frame = value_int(node, "frame"),
                                   .ns = value_int(node, "time_ns"),
                                   .parent = parent >= 0 ? (size_t)parent : SIZE_MAX,
                                   .child = SIZE_MAX,
                                   .sibling = SIZE_MAX};
    }
    for (size_t i = f->count; i-- > 0;) {
        size_t parent = f->tree[i].parent;
        if (parent != SIZE_MAX && parent >= i) {
            continue;
        }
        size_t *first = parent == SIZE_MAX ? &f->root : &f->tree[parent].child;
        f->tree[i].sibling = *first;
        *first = i;
    }
}

/* The heaviest of this function below `parent` (SIZE_MAX: an outermost one). */
static size_t find_node(const struct branches *f, const json_t *frame, size_t parent) {
    size_t best = SIZE_MAX;
    for (size_t i = first_below(f, parent); i != SIZE_MAX; i = f->tree[i].sibling) {
        if ((best == SIZE_MAX || f->tree[i].ns > f->tree[best].ns) &&
            is_same_function(node_frame(f, i), frame)) {
            best = i;
        }
    }
    return best;
}

struct branches *render_branches(const json_t *report, const json_t *hot) {
    const json_t *tree = json_object_get(json_object_get(report, "samples"), "tree"),
                 *nodes = json_object_get(tree, "nodes");
    size_t depth = json_array_size(hot), count = json_array_size(nodes), at = SIZE_MAX;
    if (count > NODES_MAX || depth > DEPTH_MAX) {
        count = 0;
    }
    struct branches *f = calloc(1, sizeof *f + count * sizeof *f->tree + (depth + 1) * sizeof *f->node);
    if (f == NULL) {
        return NULL;
    }
    *f = (struct branches){.frames = json_object_get(tree, "frames"),
                           .count = count,
                           .tree = (struct node *)(f + 1),
                           .node = (size_t *)((struct node *)(f + 1) + count)};
    read_nodes(f, nodes);
    bool lost = false;
    for (size_t i = depth; i-- > 0;) {
        const json_t *frame = json_array_get(hot, i);
        bool inlined =
            json_is_true(json_object_get(frame, "inlined")) && script_frame_language(frame) == NULL;
        f->node[i] = lost || inlined ? SIZE_MAX : find_node(f, frame, at);
        double share = json_number_value(json_object_get(frame, "share"));
        if (at == SIZE_MAX && f->node[i] != SIZE_MAX && share > 0) {
            f->all_ns = (double)f->tree[f->node[i]].ns / share;
        }
        at = inlined ? at : f->node[i];
        lost |= at == SIZE_MAX;
    }
    return f;
}

/* The heaviest node other `from` that comes after `last` in this order, of those worth a line. */
static size_t next_sibling(const struct branches *f, size_t from, size_t last) {
    size_t best = SIZE_MAX;
    for (size_t i = first_below(f, f->tree[from].parent); i != SIZE_MAX; i = f->tree[i].sibling) {
        json_int_t ns = f->tree[i].ns, last_ns = last == SIZE_MAX ? 0 : f->tree[last].ns;
        if (i == from || (double)ns < SHARE_MIN * f->all_ns) {
            continue;
        }
        if (last != SIZE_MAX && (ns > last_ns || (ns == last_ns && i <= last))) {
            continue;
        }
        if (best == SIZE_MAX || ns > f->tree[best].ns) {
            best = i;
        }
    }
    return best;
}

static void put_name(const struct page *p, const json_t *frame) {
    char *place = value_text(frame, "function") == NULL ? report_frame_place(p->report, frame) : NULL;
    const char *name = place != NULL ? place : value_text(frame, "function");
    char *text = short_name(name != NULL ? name : "?", NAME_WIDTH);
    sanitize_print(p->out, text);
    free(text);
    free(place);
}

/* "also: layout 31 %, parse 20 %" */
void render_branch(const struct page *p, const struct branches *f, size_t frame, int indent) {
    size_t node = f != NULL ? f->node[frame] : SIZE_MAX, other = SIZE_MAX;
    if (node == SIZE_MAX || !(f->all_ns > 0)) {
        return;
    }
    int shown = 0;
    for (; shown <= SHOWN_MAX && (other = next_sibling(f, node, other)) != SIZE_MAX; shown++) {
        if (shown == 0) {
            fprintf(p->out, "%*s%salso: ", indent, "", p->style.dim);
        }
        if (shown == SHOWN_MAX) {
            fputs(", ...", p->out);
            continue;
        }
        fputs(shown != 0 ? ", " : "", p->out);
        put_name(p, node_frame(f, other));
        fprintf(p->out, " %.0f%%", 100 * (double)f->tree[other].ns / f->all_ns);
    }
    if (shown != 0) {
        fprintf(p->out, "%s\n", p->style.end);
    }
}
