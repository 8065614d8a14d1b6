/* SPDX-License-Identifier: MIT
 *
 * Worker: may wait for the disk. No allocation.
 */
#include "worker/deferred.h"

#include "worker/worker.h"

#include <string.h>

void hd_deferred_count_dropped(struct hd_worker *k) {
    atomic_store_explicit(&k->run->record->losses.dropped_reports, k->spool.dropped, memory_order_relaxed);
}

static void move_deferred(struct hd_worker *k, uint32_t to, uint32_t from) {
    memmove(k->deferred.id[to], k->deferred.id[from], HD_UUID_BYTES);
    k->deferred.loop[to] = k->deferred.loop[from];
    k->deferred.generation[to] = k->deferred.generation[from];
    k->deferred.ns[to] = k->deferred.ns[from];
}

bool hd_deferred_remove(struct hd_worker *k, const struct hd_turn *h) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < k->deferred.count; i++) {
        if (memcmp(k->deferred.id[i], h->report.id, HD_UUID_BYTES) != 0) {
            move_deferred(k, left++, i);
        }
    }
    bool was = left != k->deferred.count;
    k->deferred.count = left;
    return was;
}

void hd_deferred_add(struct hd_worker *k, const struct hd_turn *h) {
    memcpy(k->deferred.id[k->deferred.count], h->report.id, HD_UUID_BYTES);
    k->deferred.ns[k->deferred.count] = h->times.duration_ns;
    k->deferred.loop[k->deferred.count] = h->loop.slot;
    k->deferred.generation[k->deferred.count++] = h->loop.generation;
}

/* Not of a thread that had the slot before: what became of its loop is not known, and its reports are held
 * until the end. */
static bool is_deferred_of(const struct hd_worker *k, uint32_t i, uint8_t loop, uint32_t generation) {
    return k->deferred.loop[i] == loop && k->deferred.generation[i] == generation;
}

void hd_deferred_publish(struct hd_worker *k, uint8_t loop, uint32_t generation) {
    uint32_t left = 0;
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        struct hd_turn *h = &k->turns.turn[i];
        h->report.published |= h->used && h->loop.slot == loop && h->loop.generation == generation;
    }
    for (uint32_t i = 0; i < k->deferred.count; i++) {
        if (is_deferred_of(k, i, loop, generation)) {
            hd_spool_release(&k->spool, k->deferred.id[i]);
        } else {
            move_deferred(k, left++, i);
        }
    }
    k->deferred.count = left;
    hd_deferred_count_dropped(k);
}

/* Of a hang that lasts the monitor finds out. */
static bool lasts(const struct hd_worker *k, const uint8_t *id) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        if (k->turns.turn[i].report.opened && memcmp(k->turns.turn[i].report.id, id, HD_UUID_BYTES) == 0) {
            return k->turns.turn[i].used;
        }
    }
    return false;
}

void hd_deferred_withdraw(struct hd_worker *k, const uint8_t *id) {
    hd_spool_withdraw(&k->spool, id);
    k->caps.day_count -= k->caps.day_count != 0; /* it was counted when the hang began */
}

void hd_deferred_void(struct hd_worker *k, uint8_t loop, uint32_t generation) {
    struct hd_record *r = k->run->record;
    uint32_t left = 0;
    for (uint32_t i = 0; i < k->deferred.count; i++) {
        if (!is_deferred_of(k, i, loop, generation) || lasts(k, k->deferred.id[i])) {
            move_deferred(k, left++, i);
            continue;
        }
        hd_deferred_withdraw(k, k->deferred.id[i]);
        atomic_fetch_add_explicit(&r->losses.withdrawn, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&r->hangs.count, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&r->hangs.total_ns, k->deferred.ns[i], memory_order_relaxed);
    }
    k->deferred.count = left;
}

void hd_deferred_settle(struct hd_worker *k) {
    bool stands = atomic_load(&k->run->record->loop.certainty) >= HD_RECORD_LOOP_LIKELY;
    for (uint32_t i = 0; i < k->deferred.count; i++) {
        if (stands) {
            hd_spool_release(&k->spool, k->deferred.id[i]);
        } else {
            hd_spool_withdraw(&k->spool, k->deferred.id[i]);
        }
    }
    k->deferred.count = 0;
}
