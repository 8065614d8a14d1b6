/* SPDX-License-Identifier: MIT
 *
 * Watched thread: wait-free. Which of a thread's waits is its loop's? For now: the set of descriptors (or
 * epoll instance) that has most of the thread's waiting time, from its third wait and 100 ms on.
 */
#ifndef HD_WAITS_H
#define HD_WAITS_H

#include "monitor/monitor.h"

#define HD_GROUPS_MAX 16

/* Waits for the same descriptors. */
struct hd_group {
    uint64_t id; /* 0: free */
    uint64_t waited_ns;
    uint64_t frame; /* the outermost place that waited: stacks grow down, so the highest address */
    uint32_t waits;
    bool inner; /* it waited inside another loop's turn: a blocking call, never the loop */
};

/* Of one watched thread; in memory that a forked child finds wiped, so that there it is not watched. */
struct hd_waits {
    struct hd_watch *watch; /* NULL: not watched */
    struct hd_record *record;
    struct hd_group *loop; /* NULL: no loop yet */
    bool sure;
    uint64_t since_ns; /* when it became the loop */
    uint64_t total_ns;
    struct hd_group group[HD_GROUPS_MAX];
};

extern _Thread_local struct hd_waits *hd_waits_self;

struct hd_waiting {
    struct hd_waits *waits;    /* NULL: this thread is not watched */
    uint64_t id, frame, began; /* ticks */
    bool blocks, idle;
};

/* Learns from a wait that ended, and chooses the loop anew. Not on the fast path of a loop that is sure. */
void hd_waits_learn(struct hd_waits *t, const struct hd_waiting *w, uint64_t waited_ns);

static inline uint64_t hd_wait_id_epoll(int epfd) {
    return 1ULL << 63 | (uint32_t)epfd;
}

/* Around the real call: begin marks the loop idle when the wait is its own, end marks it running. errno is
 * not touched. */
static inline void hd_wait_begin(struct hd_waiting *w, uint64_t id, bool blocks, void *frame) {
    struct hd_waits *t = hd_waits_self;
    if (t == NULL || t->watch == NULL) {
        w->waits = NULL;
        return;
    }
    w->waits = t;
    w->id = id;
    w->frame = (uint64_t)(uintptr_t)frame;
    w->blocks = blocks;
    /* before a loop is known, any wait that blocks is taken for idleness: nothing is reported on a guess */
    w->idle = t->loop == NULL || t->loop->id == id;
    if (!blocks) {
        return;
    }
    w->began =
        w->idle ? hd_loop_mark(&t->watch->loop, HANGDOG_BEFORE_WAITING) : hd_loop_ticks(&t->watch->loop);
}

static inline void hd_wait_end(struct hd_waiting *w) {
    struct hd_waits *t = w->waits;
    if (t == NULL || t->watch == NULL) {
        return; /* a forked child: wiped while it waited */
    }
    struct hd_loop *loop = &t->watch->loop;
    if (!w->blocks) {
        if (t->loop != NULL && w->idle) {
            hd_loop_mark(loop, HANGDOG_AFTER_WAITING); /* one turn ends, the next starts */
        }
        return;
    }
    uint64_t now = w->idle ? hd_loop_mark(loop, HANGDOG_AFTER_WAITING) : hd_loop_ticks(loop);
    if (!t->sure || !w->idle) {
        uint64_t rate = atomic_load_explicit(&loop->ns_per_tick_32, memory_order_relaxed);
        hd_waits_learn(t, w, hd_ticks_to_ns(now - w->began, rate));
    }
}

#endif
