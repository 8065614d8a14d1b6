/* SPDX-License-Identifier: MIT
 *
 * Worker code: may run while a hang lasts; no allocation.
 */
#include "report/call_tree.h"

#include <string.h>

#include "os/ticks.h"

void hd_tree_pool_init(struct hd_tree_pool *pool) {
    for (uint32_t i = 0; i < HD_TREE_POOL_NODES; i++) {
        pool->node[i].sibling = (uint16_t)(i + 1 < HD_TREE_POOL_NODES ? i + 1 : HD_TREE_NONE);
    }
    pool->free = 0;
    pool->used = 0;
}

void hd_tree_init(struct hd_tree *t, struct hd_tree_pool *pool) {
    memset(t, 0, sizeof *t);
    t->pool = pool;
    t->roots = HD_TREE_NONE;
}

/* Gives a list of nodes, linked by `sibling`, and all nodes below them back to the pool. */
static void give_list(struct hd_tree *t, uint16_t work) {
    struct hd_tree_pool *pool = t->pool;
    while (work != HD_TREE_NONE) {
        struct hd_tree_node *n = &pool->node[work];
        uint16_t next = n->sibling;
        if (n->child != HD_TREE_NONE) { /* puts the callees before the rest of the list */
            uint16_t last = n->child;
            while (pool->node[last].sibling != HD_TREE_NONE) {
                last = pool->node[last].sibling;
            }
            pool->node[last].sibling = next;
            next = n->child;
        }
        n->sibling = pool->free;
        n->samples = 0; /* marks the node as free; `parent` stays valid for hd_tree_left */
        pool->free = work;
        pool->used--;
        t->nodes--;
        work = next;
    }
}

void hd_tree_free(struct hd_tree *t) {
    give_list(t, t->roots);
    hd_tree_init(t, t->pool);
}

static uint32_t take_node(struct hd_tree *t, uint32_t parent, uint16_t *list) {
    struct hd_tree_pool *pool = t->pool;
    uint16_t i = pool->free;
    if (i == HD_TREE_NONE) {
        return i;
    }
    struct hd_tree_node *n = &pool->node[i];
    pool->free = n->sibling;
    pool->used++;
    *n = (struct hd_tree_node){.parent = (uint16_t)parent, .child = HD_TREE_NONE, .sibling = *list};
    *list = i;
    t->nodes++;
    return i;
}

/* The node of `frame` among the callees of `parent`, or among the outermost ones (HD_TREE_NONE). Makes a new
 * node where there is none. */
static uint32_t step_down(struct hd_tree *t, uint32_t parent, const struct hd_frame *frame) {
    uint16_t *list = parent == HD_TREE_NONE ? &t->roots : &t->pool->node[parent].child;
    uint64_t key = hd_frame_key(frame);
    for (uint32_t i = *list; i != HD_TREE_NONE; i = t->pool->node[i].sibling) {
        if (hd_frame_key(&t->pool->node[i].frame) == key) {
            return i;
        }
    }
    return take_node(t, parent, list);
}

/* Stores the call site in `caller`. */
static void note_call(struct hd_tree_node *callee, const struct hd_frame *caller) {
    callee->call = caller->script != 0 ? caller->at : (uint32_t)(caller->pc - caller->start);
    callee->call_trust = caller->trust;
}

uint32_t hd_tree_add(struct hd_tree *t, const struct hd_frame *frames, uint32_t count, uint64_t at_ns) {
    uint32_t at = HD_TREE_NONE, depth = count < HD_TREE_DEPTH_MAX ? count : HD_TREE_DEPTH_MAX;
    const struct hd_frame *caller = NULL;
    for (uint32_t i = 0; i < depth; i++) {
        /* A stack that is too deep loses frames in the middle. */
        const struct hd_frame *frame = &frames[i < HD_TREE_DEPTH_MAX / 2 ? count - 1 - i : depth - 1 - i];
        uint32_t next = step_down(t, at, frame);
        if (next == HD_TREE_NONE) {
            break;
        }
        struct hd_tree_node *n = &t->pool->node[next];
        if (n->samples == 0 || i + 1 == depth) {
            n->frame = *frame;
        }
        if (caller != NULL) {
            note_call(n, caller);
        }
        caller = frame;
        at = next;
    }
    hd_tree_again(t, at, at_ns);
    return at;
}

/* An answer may come late, after the answers to newer samples. */
static uint64_t latest(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

void hd_tree_again(struct hd_tree *t, uint32_t leaf, uint64_t at_ns) {
    t->samples++;
    t->newest_ns = latest(t->newest_ns, at_ns);
    for (uint32_t i = leaf; i != HD_TREE_NONE; i = t->pool->node[i].parent) {
        struct hd_tree_node *n = &t->pool->node[i];
        n->last_ns = latest(n->last_ns, at_ns);
        n->samples++;
    }
}

void hd_tree_charge(struct hd_tree *t, uint32_t leaf, uint64_t ns) {
    t->time_ns += ns;
    for (uint32_t i = leaf; i != HD_TREE_NONE; i = t->pool->node[i].parent) {
        t->pool->node[i].time_ns += ns;
    }
}

/* Gives a node without callees back to the pool. */
static void give_node(struct hd_tree *t, uint32_t at) {
    struct hd_tree_node *n = &t->pool->node[at];
    uint16_t *link = n->parent == HD_TREE_NONE ? &t->roots : &t->pool->node[n->parent].child;
    while (*link != at) {
        link = &t->pool->node[*link].sibling;
    }
    *link = n->sibling;
    n->sibling = HD_TREE_NONE;
    give_list(t, (uint16_t)at);
}

void hd_tree_discharge(struct hd_tree *t, uint32_t leaf, uint64_t ns) {
    hd_tree_charge(t, leaf, -ns);
}

void hd_tree_take_back(struct hd_tree *t, uint32_t leaf, uint64_t ns) {
    hd_tree_discharge(t, leaf, ns);
    t->samples--;
    for (uint32_t i = leaf; i != HD_TREE_NONE;) {
        uint32_t parent = t->pool->node[i].parent;
        if (--t->pool->node[i].samples == 0) {
            give_node(t, i);
        }
        i = parent;
    }
}

uint64_t hd_tree_limit(struct hd_tree *t, uint64_t most_ns) {
    const uint64_t one_32 = 1ULL << 32;
    if (t->time_ns <= most_ns) {
        return one_32;
    }
    uint64_t scale_32 = hd_ticks_ratio_32(most_ns, t->time_ns);
    t->time_ns = most_ns;
    for (uint32_t i = t->roots; i != HD_TREE_NONE; i = hd_tree_next(t->pool, i)) {
        t->pool->node[i].time_ns = hd_ticks_to_ns(t->pool->node[i].time_ns, scale_32);
    }
    return scale_32;
}

/* A worth is a small floating-point number: exponent and three binary digits, so steps of an eighth. */
#define WORTH_END 0x800u

/* How much a node is worth keeping. Its time counts twice, the time since the newest sample once: heavy nodes
 * stay, and the newest of the light ones. A caller is never worth less than a callee: it has at least the
 * time of the callee, and was seen no earlier. */
static uint32_t worth(const struct hd_tree *t, uint32_t at) {
    const struct hd_tree_node *n = &t->pool->node[at];
    int64_t unseen_ns = (int64_t)(t->newest_ns - n->last_ns);
    if (unseen_ns <= 0) {
        return WORTH_END;
    }
    float ns = (float)(int64_t)n->time_ns, value = ns * ns / (float)unseen_ns;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 20;
}

/* A worth that `count` nodes, or a few more, are below. */
static uint32_t limit_of(const struct hd_tree *t, uint32_t count) {
    uint32_t limit = 0;
    for (uint32_t step = WORTH_END / 2; step != 0; step /= 2) {
        uint32_t lighter = 0;
        for (uint32_t i = t->roots; i != HD_TREE_NONE; i = hd_tree_next(t->pool, i)) {
            lighter += worth(t, i) < limit + step;
        }
        limit += lighter < count ? step : 0;
    }
    return limit;
}

void hd_tree_fold(struct hd_tree *t, uint32_t count) {
    struct hd_tree_node *node = t->pool->node;
    uint32_t limit = limit_of(t, count);
    for (uint32_t i = t->roots; i != HD_TREE_NONE;) {
        uint32_t at = i;
        bool goes = worth(t, at) <= limit;
        if (goes) {
            give_list(t, node[at].child);
            node[at].child = HD_TREE_NONE;
            if (node[at].parent != HD_TREE_NONE) {
                node[node[at].parent].folded_ns += (float)(int64_t)node[at].time_ns;
            }
        }
        i = hd_tree_next(t->pool, at);
        if (goes) {
            give_node(t, at);
        }
    }
}

uint32_t hd_tree_left(const struct hd_tree *t, uint32_t leaf) {
    while (leaf != HD_TREE_NONE && t->pool->node[leaf].samples == 0) {
        leaf = t->pool->node[leaf].parent;
    }
    return leaf;
}

uint32_t hd_tree_next(const struct hd_tree_pool *pool, uint32_t at) {
    if (pool->node[at].child != HD_TREE_NONE) {
        return pool->node[at].child;
    }
    while (at != HD_TREE_NONE && pool->node[at].sibling == HD_TREE_NONE) {
        at = pool->node[at].parent;
    }
    return at == HD_TREE_NONE ? at : pool->node[at].sibling;
}

struct hd_frame hd_tree_frame(const struct hd_tree_pool *pool, uint32_t at, uint32_t callee) {
    const struct hd_tree_node *node = pool->node;
    struct hd_frame frame = node[at].frame;
    bool called = callee != HD_TREE_NONE;
    if (frame.script != 0) {
        frame.at = called ? node[callee].call : frame.at;
        for (called = false; node[at].frame.script != 0 && node[at].parent != HD_TREE_NONE; called = true) {
            callee = at;
            at = node[at].parent;
        }
    }
    const struct hd_frame *native = &node[at].frame;
    frame.pc = called && native->start != 0 ? native->start + (uint64_t)(int64_t)(int32_t)node[callee].call
                                            : native->pc;
    frame.trust = called ? node[callee].call_trust : native->trust;
    return frame;
}

/* The heaviest node of a list, among equals the newest. *sum_ns: the time of the whole list. */
static uint32_t heaviest(const struct hd_tree_pool *pool, uint32_t list, uint64_t *sum_ns) {
    uint32_t best = list;
    *sum_ns = 0;
    for (uint32_t i = list; i != HD_TREE_NONE; i = pool->node[i].sibling) {
        const struct hd_tree_node *n = &pool->node[i], *b = &pool->node[best];
        *sum_ns += n->time_ns;
        if (n->time_ns > b->time_ns || (n->time_ns == b->time_ns && n->last_ns > b->last_ns)) {
            best = i;
        }
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
        if (next != HD_TREE_NONE &&
            n->time_ns > sum_ns + (uint64_t)(int64_t)n->folded_ns + t->pool->node[next].time_ns) {
            break;
        }
        at = next;
    }
    return count;
}
