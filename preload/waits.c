/* SPDX-License-Identifier: MIT
 *
 * Watched thread: wait-free. Learning which wait is the loop's.
 */
#include "waits.h"

#define LOOP_WAITS 3
#define LOOP_NS (100 * HD_NS_PER_MS)
#define SURE_AFTER_NS (10 * HD_NS_PER_S)
#define SURE_WEIGHT_NS (1 * HD_NS_PER_S)
#define SURE_WAITS 5

_Thread_local struct hd_waits *hd_waits_self;

/* The wait's group, else a free one, else the lightest that is not the loop. */
static struct hd_group *group_of(struct hd_waits *t, uint64_t id) {
    struct hd_group *lightest = NULL;
    for (unsigned i = 0; i < HD_GROUPS_MAX; i++) {
        struct hd_group *g = &t->group[i];
        if (g->id == id) {
            return g;
        }
        if (g != t->loop && (lightest == NULL || g->waited_ns < lightest->waited_ns)) {
            lightest = g;
        }
    }
    t->total_ns -= lightest->waited_ns;
    *lightest = (struct hd_group){.id = id};
    return lightest;
}

/* The loop's own place waits again: whatever waited deeper since was inside its turn. Return is proof. */
static void note_inner(struct hd_waits *t) {
    for (unsigned i = 0; i < HD_GROUPS_MAX; i++) {
        struct hd_group *g = &t->group[i];
        if (g != t->loop && g->id != 0 && g->frame < t->loop->frame) {
            g->inner = true;
        }
    }
}

static void choose(struct hd_waits *t, struct hd_group *g) {
    bool heavy = g->waits >= LOOP_WAITS && g->waited_ns >= LOOP_NS && g->waited_ns > t->total_ns / 2;
    bool better = t->loop == NULL || (g != t->loop && !g->inner && g->frame >= t->loop->frame);
    if (heavy && better) {
        t->loop = g;
        t->since_ns = hd_os_now_ns();
        t->sure = false;
        atomic_store_explicit(&t->watch->loop.sure, false, memory_order_relaxed);
        atomic_store_explicit(&t->record->loop_seen, 1, memory_order_relaxed);
    }
}

static void make_sure(struct hd_waits *t) {
    const struct hd_group *g = t->loop;
    bool by_weight =
        g->waits >= SURE_WAITS && g->waited_ns >= SURE_WEIGHT_NS && g->waited_ns > t->total_ns / 10 * 9;
    if (by_weight || hd_os_now_ns() - t->since_ns >= SURE_AFTER_NS) {
        t->sure = true;
        atomic_store_explicit(&t->watch->loop.sure, true, memory_order_relaxed);
        atomic_store_explicit(&t->record->loop_seen, 2, memory_order_relaxed);
    }
}

void hd_waits_learn(struct hd_waits *t, const struct hd_waiting *w, uint64_t waited_ns) {
    struct hd_group *g = group_of(t, w->id);
    g->waited_ns += waited_ns;
    t->total_ns += waited_ns;
    g->waits++;
    g->frame = w->frame > g->frame ? w->frame : g->frame;
    choose(t, g);
    if (t->loop == g) {
        note_inner(t);
        if (!t->sure) {
            make_sure(t);
        }
    }
}
