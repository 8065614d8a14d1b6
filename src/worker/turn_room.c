/* SPDX-License-Identifier: MIT
 *
 * Worker: room for a stack in the pool of call-tree nodes that all followed turns share. When it runs full
 * the largest tree gives a quarter: to look at all of its nodes then costs each new one little. No
 * allocation.
 */
#include "worker/turn.h"

#include "worker/worker.h"

/* Where a whole stack finds no room, the largest tree has more nodes than its newest stack, which it keeps.
 */
#define STACK_MAX (HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX)
_Static_assert((HD_TREE_POOL_NODES - STACK_MAX) / HD_TURNS_MAX > HD_TREE_DEPTH_MAX, "it has some to give");

/* The hang's leaves are in its timeline, and the newest in `last` too: that stays. */
static void fold(struct hd_turn *h) {
    hd_tree_fold(&h->tree, h->tree.nodes / 4);
    for (uint32_t i = 0; i < h->timeline_count && i < HD_TIMELINE; i++) {
        h->timeline[i].leaf = hd_tree_left(&h->tree, h->timeline[i].leaf);
    }
}

uint32_t hd_turn_add_stack(struct hd_worker *k, struct hd_turn *h, uint32_t count, uint64_t at_ns) {
    if (HD_TREE_POOL_NODES - k->pool.used < count && k->profile.on) {
        hd_tree_fold(&k->profile.tree, k->profile.tree.nodes); /* its thread's turn is what is asked for */
    }
    for (unsigned turn = 0; turn < HD_TURNS_MAX && HD_TREE_POOL_NODES - k->pool.used < count; turn++) {
        struct hd_turn *largest = h;
        for (struct hd_turn *other = k->turn; other < k->turn + HD_TURNS_MAX; other++) {
            largest = other->tree.nodes > largest->tree.nodes ? other : largest;
        }
        fold(largest);
    }
    return hd_tree_add(&h->tree, k->frames, count, at_ns);
}
