/* SPDX-License-Identifier: MIT
 *
 * All turns share one pool of nodes. When a stack finds no room, the largest tree folds a quarter of the
 * nodes that it has. So many at a time: each fold goes through the whole tree. Worker.
 */
#include "turn/capacity.h"

#include "script/script.h"

/* Without room for a whole stack, the largest tree has more nodes than its newest stack, which is not folded.
 */
#define STACK_MAX (HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX)
_Static_assert((HD_TREE_POOL_NODES - STACK_MAX) / HD_TURNS_MAX > HD_TREE_DEPTH_MAX,
               "there is a node to fold");

/* Entries of the timeline follow their leaves into the callers. The newest sample's leaf is not folded. */
static void fold(struct hd_turn_samples *s) {
    hd_tree_fold(&s->tree, s->tree.nodes / 4);
    for (uint32_t i = 0; i < hd_timeline_size(&s->timeline); i++) {
        s->timeline.entry[i].leaf = hd_tree_left(&s->tree, s->timeline.entry[i].leaf);
    }
}

static bool has_room(const struct hd_turns *t, uint32_t count) {
    return HD_TREE_POOL_NODES - t->pool.used >= count;
}

uint32_t hd_capacity_add_stack(struct hd_turns *t, struct hd_turn *turn, const struct hd_frame *frames,
                               uint32_t count, uint64_t at_ns) {
    if (!has_room(t, count) && t->profile != NULL) {
        hd_tree_fold(t->profile, t->profile->nodes); /* a hang matters more than CPU use */
    }
    for (unsigned tries = 0; tries < HD_TURNS_MAX && !has_room(t, count); tries++) {
        struct hd_turn *largest = turn;
        for (struct hd_turn *other = t->turn; other < t->turn + HD_TURNS_MAX; other++) {
            largest = other->samples.tree.nodes > largest->samples.tree.nodes ? other : largest;
        }
        fold(&largest->samples);
    }
    return hd_tree_add(&turn->samples.tree, frames, count, at_ns);
}
