/* SPDX-License-Identifier: MIT */
#include "cause/deadlock.h"

#include <string.h>

#include "base/text.h"

static int32_t owner_of(const struct hd_waits_for *edges, uint32_t count, int32_t tid) {
    for (uint32_t i = 0; i < count; i++) {
        if (edges[i].tid == tid) {
            return edges[i].owner;
        }
    }
    return 0;
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
        hd_text_i64(&t, c->deadlock[i]);
        hd_text_str(&t, " -> ");
    }
    hd_text_i64(&t, c->deadlock[0]);
}

bool hd_cause_find_ring(struct hd_cause *c, const struct hd_waits_for *edges, uint32_t count, int32_t tid) {
    int32_t on_ring = tid;
    uint32_t n = 0;
    /* If `edges` lead from `tid` into a ring, `on_ring` is a thread of that ring after `count` edges. */
    for (uint32_t i = 0; i < count && on_ring != 0; i++) {
        on_ring = owner_of(edges, count, on_ring);
    }
    if (on_ring == 0) {
        return false;
    }
    int32_t ring[HD_DEADLOCK_MAX], at = on_ring;
    do {
        if (n == HD_DEADLOCK_MAX || at == 0) {
            return false;
        }
        ring[n++] = at;
        at = owner_of(edges, count, at);
    } while (at != on_ring);
    memcpy(c->deadlock, ring, n * sizeof ring[0]);
    c->deadlock_count = n;
    hd_cause_say_ring(c);
    return true;
}
