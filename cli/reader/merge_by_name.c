/* SPDX-License-Identifier: MIT
 *
 * Merging a report's call tree by name. Ordinary code.
 */
#include "cli/reader/merge_by_name.h"

#include "cli/reader/groups.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NODES_MAX 8192u /* four times what is written */

struct node {
    int64_t parent; /* -1: outermost */
    size_t frame;
    json_int_t time_ns, samples;
    size_t child, sibling; /* of the merged tree; SIZE_MAX: none */
};

struct tree {
    json_t *frames; /* borrowed */
    struct node *node;
    size_t count, roots;
};

/* ---- reading ------------------------------------------------------------------------------ */

/* For each frame the first one of the same function: itself, unless names say otherwise. False: none is
 * another's, or no memory. */
static bool find_same(const json_t *frames, size_t *same) {
    json_t *seen = json_object();
    char key[1024];
    bool any = false;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *function = json_string_value(json_object_get(frame, "function"));
        const char *file = json_string_value(json_object_get(frame, "file"));
        same[i] = i;
        if (function == NULL || json_object_get(frame, "module") != NULL) {
            continue;
        }
        snprintf(key, sizeof key, "%s\n%s\n%" JSON_INTEGER_FORMAT, function, file != NULL ? file : "",
                 json_integer_value(json_object_get(frame, "line")));
        const json_t *first = json_object_get(seen, key);
        if (first != NULL) {
            same[i] = (size_t)json_integer_value(first);
            any = true;
        } else {
            json_object_set_new(seen, key, json_integer((json_int_t)i));
        }
    }
    json_decref(seen);
    return any;
}

/* The node of this frame below this parent, made when it is new. */
static size_t step_down(struct tree *t, int64_t parent, size_t frame) {
    size_t *list = parent < 0 ? &t->roots : &t->node[parent].child;
    for (size_t i = *list; i != SIZE_MAX; i = t->node[i].sibling) {
        if (t->node[i].frame == frame) {
            return i;
        }
    }
    t->node[t->count] = (struct node){.parent = parent, .frame = frame, .child = SIZE_MAX, .sibling = *list};
    *list = t->count;
    return t->count++;
}

/* False: the tree is damaged. */
static bool read_nodes(struct tree *t, const json_t *nodes, const size_t *same) {
    size_t n = json_array_size(nodes);
    size_t *place = calloc(n + 1, sizeof *place);
    t->node = calloc(n + 1, sizeof *t->node);
    t->roots = SIZE_MAX;
    bool sound = place != NULL && t->node != NULL && n <= NODES_MAX;
    for (size_t i = 0; sound && i < n; i++) {
        const json_t *node = json_array_get(nodes, i), *parent = json_object_get(node, "parent");
        json_int_t frame = json_integer_value(json_object_get(node, "frame")),
                   above = json_integer_value(parent);
        sound = json_is_integer(parent) && above >= -1 && above < (json_int_t)i && frame >= 0 &&
                (size_t)frame < json_array_size(t->frames);
        if (sound) {
            size_t at = step_down(t, above < 0 ? -1 : (int64_t)place[above], same[frame]);
            t->node[at].time_ns =
                groups_add_times(t->node[at].time_ns, json_integer_value(json_object_get(node, "time_ns")));
            t->node[at].samples =
                groups_add_times(t->node[at].samples, json_integer_value(json_object_get(node, "samples")));
            place[i] = at;
        }
    }
    free(place);
    return sound;
}

/* ---- writing ------------------------------------------------------------------------------ */

static json_t *write_nodes(const struct tree *t) {
    json_t *nodes = json_array();
    for (size_t i = 0; i < t->count; i++) {
        json_array_append_new(nodes, json_pack("{s:I, s:I, s:I, s:I}", "frame", (json_int_t)t->node[i].frame,
                                               "parent", (json_int_t)t->node[i].parent, "time_ns",
                                               t->node[i].time_ns, "samples", t->node[i].samples));
    }
    return nodes;
}

static size_t heaviest(const struct tree *t, size_t list, json_int_t *sum) {
    size_t best = list;
    *sum = 0;
    for (size_t i = list; i != SIZE_MAX; i = t->node[i].sibling) {
        *sum += t->node[i].time_ns;
        if (t->node[i].time_ns > t->node[best].time_ns) {
            best = i;
        }
    }
    return best;
}

#define OLD_LOOKED_AT 512 /* frames of the old hot stack, for each of the new one */

/* A frame of the old hot stack is of the same function but of the hot path: its line is the better one. */
static json_t *frame_of(const struct tree *t, size_t frame, const json_t *old) {
    const json_t *want = json_array_get(t->frames, frame), *start = json_object_get(want, "start");
    for (size_t i = 0; start != NULL && i < json_array_size(old) && i < OLD_LOOKED_AT; i++) {
        const json_t *have = json_array_get(old, i);
        if (json_equal(json_object_get(have, "start"), start) &&
            json_equal(json_object_get(have, "module"), json_object_get(want, "module"))) {
            return json_copy(json_array_get(old, i));
        }
    }
    return json_copy(json_array_get(t->frames, frame));
}

static double share_of(json_int_t part, double whole) {
    return whole <= 0 ? 0 : (double)part >= whole ? 1 : (double)part / whole;
}

/* The heaviest path, by the rule of src/report/call_tree.c. The report's shares refer to the whole hang, with
 * samples that have no stack. The outermost frame's share therefore gives that time. */
static void write_hot_stack(const struct tree *t, json_t *hot) {
    const json_t *old = json_object_get(hot, "frames");
    json_int_t sum;
    size_t at = heaviest(t, t->roots, &sum), leaf = at;
    const json_t *outermost = json_array_get(old, json_array_size(old) - 1);
    double share = json_number_value(json_object_get(outermost, "share"));
    if (at == SIZE_MAX) {
        return;
    }
    double whole = share > 0 && share <= 1 ? (double)t->node[at].time_ns / share : (double)sum;
    json_t *frames = json_array();
    while (at != SIZE_MAX) {
        json_t *frame = frame_of(t, t->node[at].frame, old);
        json_object_set_new(frame, "share", json_real(share_of(t->node[at].time_ns, whole)));
        json_array_insert_new(frames, 0, frame);
        leaf = at;
        size_t next = heaviest(t, t->node[at].child, &sum);
        at = next != SIZE_MAX && t->node[leaf].time_ns - sum > t->node[next].time_ns ? SIZE_MAX : next;
    }
    json_object_set_new(hot, "frames", frames);
    json_object_set_new(hot, "samples", json_integer(t->node[leaf].samples));
    json_object_set_new(hot, "duration_ns", json_integer(t->node[leaf].time_ns));
    json_object_set_new(hot, "share", json_real(share_of(t->node[leaf].time_ns, whole)));
}

void jit_tree_merge(json_t *report) {
    json_t *tree = json_object_get(json_object_get(report, "samples"), "tree");
    struct tree t = {.frames = json_object_get(tree, "frames")};
    size_t *same = calloc(json_array_size(t.frames) + 1, sizeof *same);
    if (same != NULL && find_same(t.frames, same) && read_nodes(&t, json_object_get(tree, "nodes"), same)) {
        json_object_set_new(tree, "nodes", write_nodes(&t));
        write_hot_stack(&t, json_object_get(report, "hot_stack"));
    }
    free(t.node);
    free(same);
}
