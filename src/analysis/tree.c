/* SPDX-License-Identifier: MIT
 *
 * The call tree of a hang and its heaviest path. Pure. Worker code: may run while a hang is on; no
 * allocation.
 */
#include "analysis/tree.h"

#include <string.h>

void hd_tree_pool_init(struct hd_tree_pool *pool) {
    for (uint32_t i = 0; i < HD_TREE_POOL_NODES; i++)
        pool->node[i].sibling = i + 1 < HD_TREE_POOL_NODES ? i + 1 : HD_TREE_NONE;
    pool->free = 0;
    pool->used = 0;
}

void hd_tree_init(struct hd_tree *t, struct hd_tree_pool *pool) {
    memset(t, 0, sizeof *t);
    t->pool = pool;
    t->roots = HD_TREE_NONE;
}

void hd_tree_free(struct hd_tree *t) {
    struct hd_tree_pool *pool = t->pool;
    uint32_t work = t->roots; /* nodes still to be given back, a list through `sibling` */
    while (work != HD_TREE_NONE) {
        struct hd_tree_node *n = &pool->node[work];
        uint32_t next = n->sibling;
        if (n->child != HD_TREE_NONE) { /* its callees go before the rest of the list */
            uint32_t last = n->child;
            while (pool->node[last].sibling != HD_TREE_NONE)
                last = pool->node[last].sibling;
            pool->node[last].sibling = next;
            next = n->child;
        }
        n->sibling = pool->free;
        pool->free = work;
        pool->used--;
        work = next;
    }
    hd_tree_init(t, pool);
}

static uint32_t take_node(struct hd_tree *t, uint32_t parent, uint32_t *list) {
    struct hd_tree_pool *pool = t->pool;
    uint32_t i = pool->free;
    if (i == HD_TREE_NONE)
        return i;
    struct hd_tree_node *n = &pool->node[i];
    pool->free = n->sibling;
    pool->used++;
    memset(n, 0, sizeof *n);
    n->parent = parent;
    n->child = HD_TREE_NONE;
    n->sibling = *list;
    *list = i;
    t->nodes++;
    return i;
}

/* The node of `frame` among the callees of `parent` (HD_TREE_NONE: among the outermost), made when it is new.
 */
static uint32_t step_down(struct hd_tree *t, uint32_t parent, const struct hd_frame *frame) {
    uint32_t *list = parent == HD_TREE_NONE ? &t->roots : &t->pool->node[parent].child;
    uint64_t key = hd_frame_key(frame);
    for (uint32_t i = *list; i != HD_TREE_NONE; i = t->pool->node[i].sibling)
        if (hd_frame_key(&t->pool->node[i].frame) == key)
            return i;
    return take_node(t, parent, list);
}

uint32_t hd_tree_add(struct hd_tree *t, const struct hd_frame *frames, uint32_t count, uint64_t at_ns) {
    uint32_t at = HD_TREE_NONE, depth = count < HD_TREE_DEPTH_MAX ? count : HD_TREE_DEPTH_MAX;
    t->samples++;
    for (uint32_t i = 0; i < depth; i++) {
        /* Of a stack that is too deep the innermost half and the outermost half are kept. */
        uint32_t inner = i < HD_TREE_DEPTH_MAX / 2 ? count - 1 - i : depth - 1 - i;
        uint32_t next = step_down(t, at, &frames[inner]);
        if (next == HD_TREE_NONE) {
            t->lost++;
            break;
        }
        struct hd_tree_node *n = &t->pool->node[next];
        n->frame = frames[inner];
        n->last_ns = at_ns;
        n->samples++;
        at = next;
    }
    return at;
}

void hd_tree_again(struct hd_tree *t, uint32_t leaf, uint64_t at_ns) {
    t->samples++;
    for (uint32_t i = leaf; i != HD_TREE_NONE; i = t->pool->node[i].parent) {
        t->pool->node[i].last_ns = at_ns;
        t->pool->node[i].samples++;
    }
}

void hd_tree_charge(struct hd_tree *t, uint32_t leaf, uint64_t ns) {
    t->time_ns += ns;
    for (uint32_t i = leaf; i != HD_TREE_NONE; i = t->pool->node[i].parent)
        t->pool->node[i].time_ns += ns;
}

/* A node without samples: nothing is below it. */
static void give_node(struct hd_tree *t, uint32_t at) {
    struct hd_tree_node *n = &t->pool->node[at];
    uint32_t *link = n->parent == HD_TREE_NONE ? &t->roots : &t->pool->node[n->parent].child;
    while (*link != at)
        link = &t->pool->node[*link].sibling;
    *link = n->sibling;
    n->sibling = t->pool->free;
    t->pool->free = at;
    t->pool->used--;
    t->nodes--;
}

void hd_tree_discharge(struct hd_tree *t, uint32_t leaf, uint64_t ns) {
    hd_tree_charge(t, leaf, -ns);
}

void hd_tree_take_back(struct hd_tree *t, uint32_t leaf, uint64_t ns) {
    hd_tree_discharge(t, leaf, ns);
    t->samples--;
    for (uint32_t i = leaf; i != HD_TREE_NONE;) {
        uint32_t parent = t->pool->node[i].parent;
        if (--t->pool->node[i].samples == 0)
            give_node(t, i);
        i = parent;
    }
}

struct hd_frame hd_tree_frame(const struct hd_tree_pool *pool, uint32_t at) {
    struct hd_frame frame = pool->node[at].frame;
    while (pool->node[at].frame.script != 0 && pool->node[at].parent != HD_TREE_NONE)
        at = pool->node[at].parent;
    frame.pc = pool->node[at].frame.pc;
    frame.trust = pool->node[at].frame.trust;
    return frame;
}

/* The heaviest of a list, among equals the most recent; and the time of them all. */
static uint32_t heaviest(const struct hd_tree_pool *pool, uint32_t list, uint64_t *sum_ns) {
    uint32_t best = list;
    *sum_ns = 0;
    for (uint32_t i = list; i != HD_TREE_NONE; i = pool->node[i].sibling) {
        const struct hd_tree_node *n = &pool->node[i], *b = &pool->node[best];
        *sum_ns += n->time_ns;
        if (n->time_ns > b->time_ns || (n->time_ns == b->time_ns && n->last_ns > b->last_ns))
            best = i;
    }
    return best;
}

uint32_t hd_tree_hot_path(const struct hd_tree *t, uint32_t *nodes, uint32_t max) {
    uint32_t count = 0;
    uint64_t sum_ns;
    uint32_t at = heaviest(t->pool, t->roots, &sum_ns);
    while (at != HD_TREE_NONE && count < max) {
        const struct hd_tree_node *n = &t->pool->node[at];
        nodes[count++] = at;
        uint32_t next = heaviest(t->pool, n->child, &sum_ns);
        if (next != HD_TREE_NONE && n->time_ns - sum_ns > t->pool->node[next].time_ns)
            break;
        at = next;
    }
    return count;
}
