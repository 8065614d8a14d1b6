/* SPDX-License-Identifier: MIT
 *
 * The call tree of a hang: its samples merged by function, with times. The nodes of all open hangs come from
 * one pool; when the pool is full, the caller folds the lightest leaves into their callers. Pure. The caller
 * owns the memory.
 */
#ifndef HD_CALL_TREE_H
#define HD_CALL_TREE_H

#include "base/types.h"

#define HD_TREE_NONE UINT16_MAX
#define HD_TREE_POOL_NODES 1792u
#define HD_TREE_DEPTH_MAX 256u

struct hd_tree_node {
    /* Of the newest sample in which the function was innermost; without one, of the first sample. */
    struct hd_frame frame;
    uint64_t time_ns; /* in this function or below it */
    uint64_t last_ns; /* time of the newest sample with this node */
    float folded_ns;  /* the part of time_ns that folded callees had */
    uint32_t samples;
    uint16_t parent, child, sibling; /* first callee, next callee of the same caller; HD_TREE_NONE */
    /* The call site in the caller's frame, in the newest sample with this node: bytes from the caller's
     * start, or the line of a script. */
    uint8_t call_trust; /* enum hd_trust of that frame */
    uint32_t call;
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
    uint64_t newest_ns; /* time of the newest sample */
};

void hd_tree_pool_init(struct hd_tree_pool *pool);
void hd_tree_init(struct hd_tree *t, struct hd_tree_pool *pool);
void hd_tree_free(struct hd_tree *t); /* gives the nodes back to the pool */

/* Adds a sample with this stack, innermost frame first, without time. Returns the node of the leaf; equal
 * stacks have the same leaf. If the pool has nodes for a part of the stack only, the leaf is the innermost
 * caller that got one. HD_TREE_NONE: the stack is empty, or the pool has no node. */
uint32_t hd_tree_add(struct hd_tree *t, const struct hd_frame *frames, uint32_t count, uint64_t at_ns);
/* Adds a sample with the stack of `leaf`: the capture proved that the stack did not change. */
void hd_tree_again(struct hd_tree *t, uint32_t leaf, uint64_t at_ns);
/* Charges time to a leaf and all its callers; HD_TREE_NONE: only to the tree's total. */
void hd_tree_charge(struct hd_tree *t, uint32_t leaf, uint64_t ns);
/* Undoes hd_tree_charge. hd_tree_take_back also undoes hd_tree_add: nodes without samples go to the pool. */
void hd_tree_discharge(struct hd_tree *t, uint32_t leaf, uint64_t ns);
void hd_tree_take_back(struct hd_tree *t, uint32_t leaf, uint64_t ns);
/* Scales the times of a tree of more than `most_ns` down to that, so a callee never has more time than its
 * caller. Returns the factor in units of 2^-32 (see hd_ticks_to_ns). */
uint64_t hd_tree_limit(struct hd_tree *t, uint64_t most_ns);

/* Folds `count` leaves, or a few more, into their callers. Times are inclusive, so the times of the nodes
 * that stay do not change. The leaves with little time go, the longest unseen first. A leaf with a visible
 * part of the hang's time stays, and so does the newest stack. */
void hd_tree_fold(struct hd_tree *t, uint32_t count);
/* The node that has the samples of `leaf` after hd_tree_fold: the leaf, or a caller. HD_TREE_NONE: only the
 * tree's total has them. Valid until the next hd_tree_add. */
uint32_t hd_tree_left(const struct hd_tree *t, uint32_t leaf);

/* The node after `at`, each before its callees; HD_TREE_NONE: it was the last. */
uint32_t hd_tree_next(const struct hd_tree_pool *pool, uint32_t at);

/* The frame of node `at`, with the pc at which it called `callee` last, a node on the same path.
 * HD_TREE_NONE: with the pc at which the node was innermost. A script's function has the pc of the
 * interpreter's frame that ran it (src/script). */
struct hd_frame hd_tree_frame(const struct hd_tree_pool *pool, uint32_t at, uint32_t callee);

/* The heaviest path from the outermost frame: at each frame the callee with the most time, among equals the
 * newest. The path ends at a function with more time of its own than any callee has. Time of folded callees
 * is not a function's own. Writes at most `max` node indices, OUTERMOST first; returns how many. */
uint32_t hd_tree_hot_path(const struct hd_tree *t, uint32_t *nodes, uint32_t max);

#endif
