/* SPDX-License-Identifier: MIT
 *
 * The table of turns that are sampled. Worker.
 */
#include "turn/turn.h"

#include <string.h>

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

/* The time belongs to no function and to no cause. */
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
