/* SPDX-License-Identifier: MIT
 *
 * The slow paths of the mark, which run on the watched thread and are wait-free. Also the function by which
 * the monitor reads a loop.
 */
#include "loop/loop.h"

static void wake_monitor(struct hd_loop *l) {
    _Atomic uint32_t *wake = atomic_load_explicit(&l->wake, memory_order_relaxed);
    if (wake == NULL) {
        /* NULL: the process is a forked child, where the kernel has wiped the loop and no monitor runs */
        return;
    }
    atomic_fetch_add_explicit(wake, 1, memory_order_seq_cst);
    hd_os.futex_wake((uint32_t *)wake, 1, false);
}

void hd_loop_answer(struct hd_loop *l, uint32_t flags, bool turn_ended, bool running, uint64_t ticks) {
    uint32_t answered = 0;
    if ((flags & HD_FLAG_TRACKED) != 0 && turn_ended) {
        atomic_store_explicit(&l->tracked_end, ticks, memory_order_relaxed);
        answered |= HD_FLAG_TRACKED;
    }
    if ((flags & HD_FLAG_PARKED) != 0 && running) {
        answered |= HD_FLAG_PARKED;
    }
    /* The monitor may withdraw these flags at any moment. So the mark wakes the monitor only if one of the
     * flags in `answered` was still set when the mark cleared them. */
    if (answered != 0 &&
        (atomic_fetch_and_explicit(&l->flags, ~answered, memory_order_seq_cst) & answered) != 0) {
        wake_monitor(l);
    }
}

void hd_loop_mark_at(struct hd_loop *l, unsigned activity, uint64_t now) {
    uint64_t old = atomic_load_explicit(&l->word, memory_order_relaxed);
    unsigned before = hd_loop_activity(l, old);
    bool starts = hd_loop_turn_starts(before, activity);
    bool was_running = !hd_activity_is_idle(before);
    bool ends = was_running && (starts || hd_activity_is_idle(activity));
    if (ends) {
        hd_loop_turn_account(l);
        atomic_store_explicit(&l->pending_ticks, now - hd_loop_turn_start(l, old, before),
                              memory_order_relaxed);
    }
    if (starts) {
        atomic_store_explicit(&l->turn_ticks, now, memory_order_relaxed);
    } else if (was_running && !ends) {
        atomic_store_explicit(&l->turn_ticks, hd_loop_turn_start(l, old, before), memory_order_relaxed);
    }
    unsigned said = hd_loop_by_counter(l)           ? activity
                    : hd_activity_is_idle(activity) ? HANGDOG_EXIT
                                                    : HANGDOG_ENTRY;
    atomic_store_explicit(&l->by_clock, (uint8_t)activity, memory_order_relaxed);
    hd_loop_store(l, activity, hd_word(now, said), ends, now);
}

uint64_t hd_loop_mark_any(struct hd_loop *l, unsigned activity) {
    uint64_t now = hd_loop_ticks(l);
    hd_loop_mark_at(l, activity, now);
    return now;
}

static uint32_t depth_of(const struct hd_loop *l) {
    return atomic_load_explicit(&l->depth, memory_order_relaxed);
}

static void set_depth(struct hd_loop *l, uint32_t depth) {
    atomic_store_explicit(&l->depth, depth, memory_order_relaxed);
}

void hd_loop_note_outer(struct hd_loop *l) {
    unsigned now = hd_loop_activity(l, atomic_load_explicit(&l->word, memory_order_relaxed));
    if (depth_of(l) == 0 && !hd_activity_is_idle(now) && now != HANGDOG_ENTRY) {
        set_depth(l, 1);
    }
}

void hd_loop_enter(struct hd_loop *l) {
    hd_loop_note_outer(l);
    set_depth(l, depth_of(l) + 1);
    hd_loop_mark(l, HANGDOG_ENTRY);
}

void hd_loop_exit(struct hd_loop *l) {
    uint32_t depth = depth_of(l);
    if (depth > 1) {
        set_depth(l, depth - 1);
        hd_loop_mark(l, HANGDOG_AFTER_WAITING); /* a new turn of the outer loop starts */
    } else {
        set_depth(l, 0);
        hd_loop_mark(l, HANGDOG_EXIT);
    }
}

void hd_loop_view(struct hd_loop *l, struct hd_loop_view *out) {
    uint64_t word;
    uint64_t turn;
    /* The owner may store a mark between these loads. If both loads of the word give the same value, `turn`
     * belongs to that word. Otherwise this function loads both variables again. */
    do {
        word = atomic_load_explicit(&l->word, memory_order_seq_cst);
        turn = atomic_load_explicit(&l->turn_ticks, memory_order_acquire);
    } while (word != atomic_load_explicit(&l->word, memory_order_acquire));
    uint64_t marked = word >> HD_ACTIVITY_BITS;
    out->word = word;
    out->activity = hd_loop_activity(l, word);
    out->running = !hd_activity_is_idle(out->activity);
    /* The owner stores turn_ticks before the word. So if turn_ticks is later than the word's time, turn_ticks
     * belongs to a newer mark, whose word is not stored yet. */
    out->turn_ticks = turn <= marked ? turn : marked;
    if (out->activity == HANGDOG_ENTRY || out->activity == HANGDOG_AFTER_WAITING) {
        out->turn_ticks = marked;
    }
}

bool hd_loop_is_in_turn(struct hd_loop *l, uint64_t start_ticks) {
    struct hd_loop_view view;
    hd_loop_view(l, &view);
    return view.turn_ticks == 0 || (view.running && view.turn_ticks == start_ticks);
}

void hd_loop_init(struct hd_loop *l, _Atomic uint32_t *wake, hd_thread_id thread, bool ticks_are_tsc,
                  uint64_t ns_per_tick_32, uint64_t start_ticks, bool running) {
    /* This function clears the memory by atomic stores, because another thread may still read the earlier
     * loop that was in this memory. */
    hd_os_memory_clear(l, sizeof *l);
    atomic_store_explicit(&l->wake, wake, memory_order_relaxed);
    atomic_store_explicit(&l->thread, thread, memory_order_relaxed);
    atomic_store_explicit(&l->ticks_are_tsc, ticks_are_tsc, memory_order_relaxed);
    atomic_store_explicit(&l->started_ticks, start_ticks, memory_order_relaxed);
    atomic_store_explicit(&l->by_clock, running ? HANGDOG_ENTRY : HANGDOG_EXIT, memory_order_relaxed);
    atomic_store_explicit(&l->ns_per_tick_32, ns_per_tick_32, memory_order_relaxed);
    atomic_store_explicit(&l->turn_ticks, start_ticks, memory_order_relaxed);
    /* The mark that ends a turn adds the turn before it to the histogram. At the first turn's end there is no
     * turn before, so the mark adds a turn of length 0 to histogram[0]. Since histogram[0] starts at -1, it
     * becomes 0. */
    atomic_store_explicit(&l->histogram[0], UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&l->word, hd_word(start_ticks, running ? HANGDOG_ENTRY : HANGDOG_EXIT),
                          memory_order_seq_cst);
}
