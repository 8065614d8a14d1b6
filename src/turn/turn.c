/* SPDX-License-Identifier: MIT
 *
 * The turns that the worker follows, and the pool of tree nodes that all their call trees share. If the pool
 * has no space for a stack, the largest tree folds: it merges some leaves into their callers. Each fold
 * walks the whole tree, so a fold removes a quarter of the tree's nodes at once. On the worker thread.
 */
#include "turn/turn.h"

#include <string.h>

#include "script/script.h"

/* ---- the table -------------------------------------------------------------------------------- */

void hd_turns_init(struct hd_turns *t) {
    hd_tree_pool_init(&t->pool);
}

struct hd_turn *hd_turns_find(struct hd_turns *t, uint8_t slot, uint32_t generation) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        struct hd_turn *turn = &t->turn[i];
        if (turn->used && turn->loop.slot == slot && turn->loop.generation == generation) {
            return turn;
        }
    }
    return NULL;
}

static struct hd_turn *find_free(struct hd_turns *t) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        if (!t->turn[i].used) {
            return &t->turn[i];
        }
    }
    return NULL;
}

struct hd_turn *hd_turns_start(struct hd_turns *t, uint8_t slot, uint32_t generation) {
    struct hd_turn *turn = hd_turns_find(t, slot, generation);
    if (turn != NULL) {
        hd_turn_free(turn);
    } else if ((turn = find_free(t)) == NULL) {
        return NULL;
    }
    memset(turn, 0, sizeof *turn);
    turn->used = true;
    turn->loop.slot = slot;
    turn->loop.generation = generation;
    hd_tree_init(&turn->samples.tree, &t->pool);
    return turn;
}

/* Adds the unseen time only to the totals, because no sample shows a function or a cause for that time. */
void hd_turn_add_unseen(struct hd_turn *turn, uint64_t unseen_ns) {
    turn->times.unseen_ns = unseen_ns;
    turn->samples.tree.time_ns = unseen_ns;
    hd_cause_add(
        &turn->samples.sums,
        &(struct hd_probe){.for_ns = unseen_ns, .state = HD_RUN_GONE, .syscall_nr = HD_SYSCALL_NONE});
}

void hd_turn_free(struct hd_turn *turn) {
    hd_tree_free(&turn->samples.tree);
    turn->used = false;
}

bool hd_turns_is_empty(const struct hd_turns *t) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        if (t->turn[i].used) {
            return false;
        }
    }
    return true;
}

bool hd_turns_has_hang(const struct hd_turns *t) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        if (t->turn[i].used && t->turn[i].report.opened) {
            return true;
        }
    }
    return false;
}

/* ---- the pool of nodes ------------------------------------------------------------------------ */

/* The largest number of frames of one stack. The assertion below proves: when the pool has no space for such
 * a stack, the largest tree has more nodes than one stack. So that tree can fold some of them, although a
 * fold always keeps the newest stack. */
#define STACK_MAX (HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX)
_Static_assert((HD_TREE_POOL_NODES - STACK_MAX) / HD_TURNS_MAX > HD_TREE_DEPTH_MAX,
               "there is a node to fold");

/* Folds a quarter of the tree's nodes into their callers. If a timeline entry's leaf was folded, the entry
 * gets the nearest caller that is left. The newest sample's leaf stays valid, because a fold keeps the
 * newest stack. */
static void fold(struct hd_turn_samples *s) {
    hd_tree_fold(&s->tree, s->tree.nodes / 4);
    for (uint32_t i = 0; i < hd_timeline_size(&s->timeline); i++) {
        s->timeline.entry[i].leaf = hd_tree_left(&s->tree, s->timeline.entry[i].leaf);
    }
}

static bool has_room(const struct hd_turns *t, uint32_t count) {
    return HD_TREE_POOL_NODES - t->pool.used >= count;
}

uint32_t hd_turns_add_stack(struct hd_turns *t, struct hd_turn *turn, const struct hd_frame *frames,
                            uint32_t count, uint64_t at_ns) {
    if (!has_room(t, count) && t->profile != NULL) {
        /* the CPU profile gives up its nodes first, because a hang's report matters more than a CPU report */
        hd_tree_fold(t->profile, t->profile->nodes);
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
