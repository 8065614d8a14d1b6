/* SPDX-License-Identifier: MIT */
#include "cause/deadlock.h"

#include <string.h>

#include "base/text.h"

static hd_thread_id owner_of(const struct hd_waits_for *edges, uint32_t count, hd_thread_id thread) {
    for (uint32_t i = 0; i < count; i++) {
        if (hd_thread_id_equal(edges[i].thread, thread)) {
            return edges[i].owner;
        }
    }
    return HD_THREAD_ID_NONE;
}

void hd_cause_say_ring(struct hd_cause *c) {
    struct hd_text t;
    hd_text_init(&t, c->detail, sizeof c->detail);
    if (c->deadlock_count == 1) {
        hd_text_str(&t, "deadlock: the thread waits for a mutex that it has locked itself");
        return;
    }
    hd_text_str(&t, "deadlock: ");
    for (uint32_t i = 0; i < c->deadlock_count; i++) {
        hd_text_u64(&t, c->deadlock[i].number);
        hd_text_str(&t, " -> ");
    }
    hd_text_u64(&t, c->deadlock[0].number);
}

bool hd_cause_find_ring(struct hd_cause *c, const struct hd_waits_for *edges, uint32_t count,
                        hd_thread_id thread) {
    hd_thread_id on_ring = thread;
    uint32_t n = 0;
    /* If `edges` lead from `thread` into a ring, `on_ring` is a thread of that ring after `count` edges. */
    for (uint32_t i = 0; i < count && !hd_thread_id_is_none(on_ring); i++) {
        on_ring = owner_of(edges, count, on_ring);
    }
    if (hd_thread_id_is_none(on_ring)) {
        return false;
    }
    hd_thread_id ring[HD_DEADLOCK_MAX], at = on_ring;
    do {
        if (n == HD_DEADLOCK_MAX || hd_thread_id_is_none(at)) {
            return false;
        }
        ring[n++] = at;
        at = owner_of(edges, count, at);
    } while (!hd_thread_id_equal(at, on_ring));
    memcpy(c->deadlock, ring, n * sizeof ring[0]);
    c->deadlock_count = n;
    hd_cause_say_ring(c);
    return true;
}
