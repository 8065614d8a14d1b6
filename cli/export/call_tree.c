/* SPDX-License-Identifier: MIT */
#include "cli/export/call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "cli/reader/groups.h"

struct node {
    const json_t *frame;
    char *name;
    int64_t ns;
    size_t child, sibling; /* 0: none; the root is none's */
};

struct tree {
    const json_t *report;
    struct node *node;
    size_t count, capacity;
};

/* 0: no memory. */
static size_t add_node(struct tree *t, size_t parent, const json_t *frame, char *name) {
    if (t->count == t->capacity) {
        struct node *more = realloc(t->node, (2 * t->capacity + 64) * sizeof *more);
        if (more == NULL) {
            free(name);
            return 0;
        }
        t->node = more;
        t->capacity = 2 * t->capacity + 64;
    }
    size_t made = t->count++;
    t->node[made] = (struct node){.frame = frame, .name = name};
    if (made != 0) { /* behind its siblings: the order is that of the time */
        size_t *last = &t->node[parent].child;
        while (*last != 0) {
            last = &t->node[*last].sibling;
        }
        *last = made;
    }
    return made;
}

static size_t step(struct tree *t, size_t at, const json_t *frame) {
    char *name = frame != NULL ? export_frame_name(t->report, frame) : strdup("");
    if (name == NULL) {
        return 0;
    }
    for (size_t child = t->node[at].child; child != 0; child = t->node[child].sibling) {
        if ((t->node[child].frame == NULL) == (frame == NULL) && strcmp(t->node[child].name, name) == 0) {
            free(name);
            return child;
        }
    }
    return add_node(t, at, frame, name);
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
    bool well = true;
    add_node(&t, 0, NULL, NULL);
    well = t.count == 1;
    for (size_t i = 0; well && i < thread->count; i++) {
        well = add_stack(&t, &thread->stack[i]);
    }
    well = well && walk(&t, visit, context);
    for (size_t i = 0; i < t.count; i++) {
        free(t.node[i].name);
    }
    free(t.node);
    return well;
}
