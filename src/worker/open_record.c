/* SPDX-License-Identifier: MIT
 *
 * Worker: which of the hangs that go on the record has, for whoever closes the books of a process that is
 * killed. It has one. No allocation.
 */
#include "worker/open_record.h"

#include <string.h>

/* The record tells of this hang, as far as it is known, and the monitor keeps it current. */
static void give_record(struct hd_run *run, const struct hd_turn *h) {
    struct hd_record *r = run->record;
    atomic_store_explicit(&r->open.state, HD_RECORD_NO_HANG, memory_order_release);
    atomic_store_explicit(&run->channel.open_loop, h->loop.slot, memory_order_relaxed);
    atomic_store_explicit(&run->channel.open_start_ns, h->times.start_ns, memory_order_relaxed);
    memcpy(r->open.hang_id, h->report.id, sizeof r->open.hang_id);
    atomic_store_explicit(&r->open.is_launch, h->state == HANGDOG_STATE_LAUNCH, memory_order_relaxed);
    atomic_store_explicit(&r->open.since_ns, h->times.start_ns + h->times.excluded_ns, memory_order_relaxed);
    atomic_store_explicit(&r->open.duration_ns, h->times.duration_ns, memory_order_relaxed);
    atomic_store_explicit(&r->open.state, HD_RECORD_HANG_LASTS, memory_order_release);
}

/* Before the report is written: a process that dies meanwhile leaves the truth in the record. */
void hd_open_record_update(struct hd_run *run, const struct hd_turn *h, bool complete) {
    struct hd_record *r = run->record;
    uint32_t open = atomic_load_explicit(&r->open.state, memory_order_relaxed);
    if (complete) {
        if (open != HD_RECORD_NO_HANG && memcmp(r->open.hang_id, h->report.id, sizeof r->open.hang_id) == 0) {
            atomic_store_explicit(&r->open.ended_duration_ns, h->times.duration_ns, memory_order_relaxed);
            atomic_store_explicit(&r->open.state, HD_RECORD_HANG_ENDED, memory_order_release);
        }
        hd_record_add_hang(r, h->times.duration_ns);
    } else if (open == HD_RECORD_NO_HANG ||
               (open == HD_RECORD_HANG_LASTS && h->state != HANGDOG_STATE_LAUNCH &&
                atomic_load_explicit(&r->open.is_launch, memory_order_relaxed))) {
        give_record(run, h); /* a hang takes the place of a launch, which may be none */
    }
}

/* Its last report is on disk, or is withheld: the longest of the others that are open has the record, and a
 * launch, which may be none, only where there is nothing else. */
void hd_open_record_close(const struct hd_worker *k, const struct hd_turn *h) {
    struct hd_record *r = k->run->record;
    const struct hd_turn *next = NULL;
    if (memcmp(r->open.hang_id, h->report.id, sizeof r->open.hang_id) != 0) {
        return;
    }
    atomic_store_explicit(&r->open.state, HD_RECORD_NO_HANG, memory_order_release);
    for (const struct hd_turn *o = k->turns.turn; o < k->turns.turn + HD_TURNS_MAX; o++) {
        bool launch = o->state == HANGDOG_STATE_LAUNCH;
        if (o == h || !o->used || !o->report.opened) {
            continue;
        }
        bool other_kind = next != NULL && launch != (next->state == HANGDOG_STATE_LAUNCH);
        if (next == NULL || (other_kind ? !launch : o->times.start_ns < next->times.start_ns)) {
            next = o;
        }
    }
    if (next != NULL) {
        give_record(k->run, next);
    }
}
