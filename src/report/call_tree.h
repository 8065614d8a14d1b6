/* SPDX-License-Identifier: MIT
 *
 * The call tree of a hang: every sample merged by function, with times. Pure; memory is the caller's.
 * Nodes of all open hangs come from one pool. When it runs full, what weighs least is folded into its
 * callers.
 */
#ifndef HD_CALL_TREE_H
#define HD_CALL_TREE_H

#include "base/types.h"

#define HD_TREE_NONE UINT16_MAX
#define HD_TREE_POOL_NODES 1792u
#define HD_TREE_DEPTH_MAX 256u

struct hd_tree_node {
    struct hd_frame frame; /* as the innermost one it was last, else as it was met first */
    uint64_t time_ns;      /* in this function or below it */
    uint64_t last_ns;      /* when it was last seen */
    float folded_ns;       /* of its time: in callees that were folded into it */
    uint32_t samples;
    uint16_t parent, child, sibling; /* first callee, next callee of the same caller; HD_TREE_NONE */
    uint8_t call_trust; /* its caller's, and where that called it when it did so last: from the */
    uint32_t call;      /* caller's start; of a script's function the line */
};
_Static_assert(sizeof(struct hd_tree_node) == 64, "there are HD_TREE_POOL_NODES of them");

struct hd_tree_pool {
    uint16_t free; /* list through `sibling` */
    uint32_t used;
    struct hd_tree_node node[HD_TREE_POOL_NODES];
};

struct hd_tree {
    struct hd_tree_pool *pool;
    uint16_t roots; /* first outermost function, HD_TREE_NONE */
    uint16_t nodes;
    uint32_t samples;
    uint64_t time_ns;   /* all of it */
    uint64_t newest_ns; /* when the newest sample was taken */
};

void hd_tree_pool_init(struct hd_tree_pool *pool);
void hd_tree_init(struct hd_tree *t, struct hd_tree_pool *pool);
void hd_tree_free(struct hd_tree *t); /* nodes go back to the pool */

/* Adds one stack, innermost first, without time. Returns its leaf's node: equal stacks have the same one.
 * HD_TREE_NONE: an empty stack, or no room for any of it; with room for a part, the innermost caller that has
 * a node. */
uint32_t hd_tree_add(struct hd_tree *t, const struct hd_frame *frames, uint32_t count, uint64_t at_ns);
/* One more sample of a stack that is in the tree (a capture that proves the one before). */
void hd_tree_again(struct hd_tree *t, uint32_t leaf, uint64_t at_ns);
/* Charges time to a leaf and all its callers; HD_TREE_NONE: only to the tree's total. */
void hd_tree_charge(struct hd_tree *t, uint32_t leaf, uint64_t ns);
/* Takes back what was charged; with the sample itself: nodes that no other has go. */
void hd_tree_discharge(struct hd_tree *t, uint32_t leaf, uint64_t ns);
void hd_tree_take_back(struct hd_tree *t, uint32_t leaf, uint64_t ns);
/* Makes a tree of more than `most_ns` one of that, in proportion: callees never have more than their caller.
 * Returns by how much times became shorter, in 2^-32 (see hd_ticks_to_ns). */
uint64_t hd_tree_limit(struct hd_tree *t, uint64_t most_ns);

/* Room. A leaf that is folded into its caller turns its time into that caller's, and times are inclusive:
 * those of all nodes that stay are what they were. What goes has little time and was not seen for long: what
 * has a part of the hang's time that can be told from the others' stays, and so does the newest stack. Folds
 * `count` nodes, or a few more. */
void hd_tree_fold(struct hd_tree *t, uint32_t count);
/* Where a leaf's samples are since then, to be asked before another stack is added: in the leaf itself, in a
 * caller, or in the tree's total alone (HD_TREE_NONE). */
uint32_t hd_tree_left(const struct hd_tree *t, uint32_t leaf);

/* The node after `at`, each before its callees; HD_TREE_NONE: it was the last. */
uint32_t hd_tree_next(const struct hd_tree_pool *pool, uint32_t at);

/* The node's frame where it called `callee` last, a node below it on the path that is told: what else it
 * called since is elsewhere. HD_TREE_NONE: where it was itself. A script's function is at the place of the
 * interpreter's frame that ran it (src/script). */
struct hd_frame hd_tree_frame(const struct hd_tree_pool *pool, uint32_t at, uint32_t callee);

/* The heaviest path from the outermost frame: at each frame the callee with the most time, among equals the
 * most recent. It ends where the function's own time is more than any callee's; that of folded callees is not
 * its own. Writes node indices,
 * OUTERMOST first; returns how many. */
uint32_t hd_tree_hot_path(const struct hd_tree *t, uint32_t *nodes, uint32_t max);

#endif
