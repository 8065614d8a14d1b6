/* SPDX-License-Identifier: MIT
 *
 * The record has space for only one open hang. If several hangs are open, a hang that is not a launch comes
 * first, because a launch may prove to be no hang. Of two launches, or of two other hangs, the one that
 * started first comes first, because it is longer. On the worker thread.
 */
#include "publish/open_record.h"

#include <string.h>

static bool is_launch(const struct hd_turn *turn) {
    return turn->state == HANGDOG_STATE_LAUNCH;
}

/* Stores the hang in the record. From now on the monitor updates the duration: it finds the hang by
 * open_loop and open_start_ns. Readers use the other members only while `state` is HD_RECORD_HANG_LASTS. So
 * `state` is cleared before the other members change, and set after them. */
static void name_hang(struct hd_run *run, const struct hd_turn *turn) {
    struct hd_record_open *open = &run->record->open;
    atomic_store_explicit(&open->state, HD_RECORD_NO_HANG, memory_order_release);
    atomic_store_explicit(&run->channel.open_loop, turn->loop.slot, memory_order_relaxed);
    atomic_store_explicit(&run->channel.open_start_ns, turn->times.start_ns, memory_order_relaxed);
    memcpy(open->hang_id, turn->report.id, sizeof open->hang_id);
    atomic_store_explicit(&open->is_launch, is_launch(turn), memory_order_relaxed);
    atomic_store_explicit(&open->since_ns, turn->times.start_ns + turn->times.excluded_ns,
                          memory_order_relaxed);
    atomic_store_explicit(&open->duration_ns, turn->times.duration_ns, memory_order_relaxed);
    atomic_store_explicit(&open->state, HD_RECORD_HANG_LASTS, memory_order_release);
}

static bool is_named(const struct hd_record_open *open, const struct hd_turn *turn) {
    return memcmp(open->hang_id, turn->report.id, sizeof open->hang_id) == 0;
}

void hd_open_record_update(struct hd_run *run, const struct hd_turn *turn, bool complete) {
    struct hd_record_open *open = &run->record->open;
    if (turn->pool != NULL) { /* its report is written often enough to stay true if the process dies */
        if (complete) {
            hd_record_add_pool_stall(run->record, turn->times.duration_ns);
        }
        return;
    }
    uint32_t state = atomic_load_explicit(&open->state, memory_order_relaxed);
    if (complete) {
        if (state != HD_RECORD_NO_HANG && is_named(open, turn)) {
            atomic_store_explicit(&open->ended_duration_ns, turn->times.duration_ns, memory_order_relaxed);
            atomic_store_explicit(&open->state, HD_RECORD_HANG_ENDED, memory_order_release);
        }
        hd_record_add_hang(run->record, turn->times.duration_ns);
        return;
    }
    bool of_launch = atomic_load_explicit(&open->is_launch, memory_order_relaxed);
    if (state == HD_RECORD_NO_HANG || (state == HD_RECORD_HANG_LASTS && of_launch && !is_launch(turn))) {
        name_hang(run, turn);
    }
}

static bool goes_before(const struct hd_turn *turn, const struct hd_turn *other) {
    if (is_launch(turn) != is_launch(other)) {
        return !is_launch(turn);
    }
    return turn->times.start_ns < other->times.start_ns;
}

void hd_open_record_close(struct hd_run *run, const struct hd_turns *turns, const struct hd_turn *turn) {
    struct hd_record_open *open = &run->record->open;
    if (!is_named(open, turn)) {
        return;
    }
    atomic_store_explicit(&open->state, HD_RECORD_NO_HANG, memory_order_release);
    const struct hd_turn *next = NULL;
    for (const struct hd_turn *other = turns->turn; other < turns->turn + HD_TURNS_MAX; other++) {
        bool is_open = other != turn && other->used && other->report.opened;
        if (is_open && (next == NULL || goes_before(other, next))) {
            next = other;
        }
    }
    if (next != NULL) {
        name_hang(run, next);
    }
}
