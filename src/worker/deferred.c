/* SPDX-License-Identifier: MIT
 *
 * Worker: may wait for the disk. No allocation.
 */
#include "worker/deferred.h"

#include <string.h>

void hd_note_dropped(struct hd_worker *k) {
    atomic_store_explicit(&k->run->record->reports_dropped, k->spool.dropped, memory_order_relaxed);
}

static void move_held(struct hd_worker *k, uint32_t to, uint32_t from) {
    memmove(k->held[to], k->held[from], HD_UUID_BYTES);
    k->held_loop[to] = k->held_loop[from];
    k->held_generation[to] = k->held_generation[from];
    k->held_ns[to] = k->held_ns[from];
}

bool hd_unhold(struct hd_worker *k, const struct hd_hang *h) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < k->held_count; i++) {
        if (memcmp(k->held[i], h->id, HD_UUID_BYTES) != 0) {
            move_held(k, left++, i);
        }
    }
    bool was = left != k->held_count;
    k->held_count = left;
    return was;
}

void hd_hold(struct hd_worker *k, const struct hd_hang *h) {
    memcpy(k->held[k->held_count], h->id, HD_UUID_BYTES);
    k->held_ns[k->held_count] = h->duration_ns;
    k->held_loop[k->held_count] = h->loop;
    k->held_generation[k->held_count++] = h->generation;
}

/* Not of a thread that had the slot before: what became of its loop is not known, and its reports are held
 * until the end. */
static bool is_held_of(const struct hd_worker *k, uint32_t i, uint8_t loop, uint32_t generation) {
    return k->held_loop[i] == loop && k->held_generation[i] == generation;
}

void hd_held_show(struct hd_worker *k, uint8_t loop, uint32_t generation) {
    uint32_t left = 0;
    for (unsigned i = 0; i < HD_HANGS_MAX; i++) {
        struct hd_hang *h = &k->hang[i];
        h->shown |= h->used && h->loop == loop && h->generation == generation;
    }
    for (uint32_t i = 0; i < k->held_count; i++) {
        if (is_held_of(k, i, loop, generation)) {
            hd_spool_release(&k->spool, k->held[i]);
        } else {
            move_held(k, left++, i);
        }
    }
    k->held_count = left;
    hd_note_dropped(k);
}

/* Of a hang that lasts the monitor finds out. */
static bool lasts(const struct hd_worker *k, const uint8_t *id) {
    for (unsigned i = 0; i < HD_HANGS_MAX; i++) {
        if (k->hang[i].opened && memcmp(k->hang[i].id, id, HD_UUID_BYTES) == 0) {
            return k->hang[i].used;
        }
    }
    return false;
}

void hd_withdraw(struct hd_worker *k, const uint8_t *id) {
    hd_spool_withdraw(&k->spool, id);
    k->day_count -= k->day_count != 0; /* it was counted when the hang began */
}

void hd_held_void(struct hd_worker *k, uint8_t loop, uint32_t generation) {
    struct hd_record *r = k->run->record;
    uint32_t left = 0;
    for (uint32_t i = 0; i < k->held_count; i++) {
        if (!is_held_of(k, i, loop, generation) || lasts(k, k->held[i])) {
            move_held(k, left++, i);
            continue;
        }
        hd_withdraw(k, k->held[i]);
        atomic_fetch_add_explicit(&r->withdrawn, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&r->hangs, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&r->hang_ns, k->held_ns[i], memory_order_relaxed);
    }
    k->held_count = left;
}

void hd_held_settle(struct hd_worker *k) {
    bool stands = atomic_load(&k->run->record->loop_seen) >= HD_RECORD_LOOP;
    for (uint32_t i = 0; i < k->held_count; i++) {
        if (stands) {
            hd_spool_release(&k->spool, k->held[i]);
        } else {
            hd_spool_withdraw(&k->spool, k->held[i]);
        }
    }
    k->held_count = 0;
}
