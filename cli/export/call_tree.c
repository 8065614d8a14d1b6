/* SPDX-License-Identifier: MIT */
#include "cli/export/call_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/intern.h"
#include "cli/reader/groups.h"

struct node {
    const json_t *frame;
    int64_t ns;
    size_t child, last, sibling; /* the first and the last child; 0: no such node, for the root is no child */
};

struct tree {
    const json_t *report;
    struct node *node;
    struct export_intern index; /* by parent and name: a node's number less one */
    size_t count, capacity;
};

/* False: no memory. */
static bool add_node(struct tree *t, size_t parent, const json_t *frame) {
    if (t->count == t->capacity) {
        struct node *more = realloc(t->node, (2 * t->capacity + 64) * sizeof *more);
        if (more == NULL) {
            return false;
        }
        t->node = more;
        t->capacity = 2 * t->capacity + 64;
    }
    size_t made = t->count++;
    t->node[made] = (struct node){.frame = frame};
    if (made != 0) { /* behind its siblings: the order is that of the time */
        struct node *above = &t->node[parent];
        *(above->last != 0 ? &t->node[above->last].sibling : &above->child) = made;
        above->last = made;
    }
    return true;
}

/* 0: no memory. */
static size_t step(struct tree *t, size_t at, const json_t *frame) {
    char *name = frame != NULL ? export_frame_name(t->report, frame) : strdup(""), *key = NULL;
    bool added;
    if (name == NULL || asprintf(&key, "%zu%c%s", at, frame != NULL ? ' ' : '-', name) < 0) {
        free(name);
        return 0;
    }
    size_t child = 1 + export_intern(&t->index, key, &added);
    free(name);
    free(key);
    return !added || (child == t->count && add_node(t, at, frame)) ? child : 0;
}

static bool add_stack(struct tree *t, const struct export_stack *s) {
    size_t at = 0, i = s->count;
    bool first = true;
    while (first || i > 0) {
        first = false;
        at = step(t, at, i > 0 ? s->frame[i - 1] : NULL);
        if (at == 0) {
            return false;
        }
        t->node[at].ns = groups_add_times(t->node[at].ns, s->ns);
        i -= i > 0;
    }
    return true;
}

/* Without recursion: a stack may be deep. */
static bool walk(const struct tree *t, void visit(void *context, const struct export_node *node),
                 void *context) {
    size_t *stack = calloc(EXPORT_DEPTH_MAX + 2, sizeof *stack);
    int depth = 0;
    if (stack == NULL) {
        return false;
    }
    stack[0] = t->node[0].child;
    while (depth >= 0) {
        size_t at = stack[depth];
        if (at == 0) {
            depth--;
            continue;
        }
        visit(context,
              &(struct export_node){
                  .report = t->report, .frame = t->node[at].frame, .depth = depth, .ns = t->node[at].ns});
        stack[depth] = t->node[at].sibling;
        if (depth < EXPORT_DEPTH_MAX) {
            stack[++depth] = t->node[at].child;
        }
    }
    free(stack);
    return true;
}

bool export_call_tree(const json_t *report, const struct export_thread *thread,
                      void visit(void *context, const struct export_node *node), void *context) {
    struct tree t = {.report = report};
    bool well = export_intern_init(&t.index) && add_node(&t, 0, NULL);
    for (size_t i = 0; well && i < thread->count; i++) {
        well = add_stack(&t, &thread->stack[i]);
    }
    well = well && walk(&t, visit, context);
    export_intern_free(&t.index);
    free(t.node);
    return well;
}
