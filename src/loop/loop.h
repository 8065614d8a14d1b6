/* SPDX-License-Identifier: MIT
 *
 * Watched thread: wait-free. The mark, the turn and its histogram. Nothing here blocks, allocates or makes a
 * system call, but for the wake of a monitor that asked for it.
 */
#ifndef HD_LOOP_H
#define HD_LOOP_H

#include <stdatomic.h>

#include "hangdog/hangdog.h"
#include "os/os.h"
#include "os/ticks.h"
#include "types.h"

#define HD_TURN_HISTOGRAM 48

/* Flags that the monitor sets and only then re-reads the word; the mark stores the word and only then loads
 * them. One of the two sees the other: a plain store on either side lost 14,885 of 2,048,000 wake-ups in a
 * trial. */
#define HD_FLAG_PARKED 1u  /* the monitor sleeps until somebody runs */
#define HD_FLAG_TRACKED 2u /* the monitor wants to know when this turn ends */

#define HD_ACTIVITY_BITS 3u
#define HD_ACTIVITY_MASK 7u

struct hd_loop {
    /* one cache line: what a mark touches */
    _Alignas(64) _Atomic uint64_t word; /* ticks << 3 | activity, of the last mark */
    _Atomic uint32_t flags;
    uint32_t depth;                  /* of entries; owner */
    _Atomic uint64_t turn_ticks;     /* when the running turn started; owner writes */
    _Atomic uint64_t busy_ticks;     /* sum of ended turns; owner writes */
    _Atomic uint64_t idle_ticks;     /* sum of ended waits; owner writes */
    _Atomic uint64_t ns_per_tick_32; /* 32.32 fixed point; the monitor keeps it true */
    bool ticks_are_tsc;              /* else nanoseconds of CLOCK_MONOTONIC */
    /* the rest: seldom */
    _Alignas(64) _Atomic uint64_t histogram[HD_TURN_HISTOGRAM]; /* turns of 2^i .. 2^(i+1) ns; owner writes */
    _Atomic uint64_t turn_max_ns;
    _Atomic uint64_t tracked_end; /* ticks: when the tracked turn ended; written before TRACKED is cleared */
    _Atomic uint32_t expected;    /* depth of hangdog_expect_block */
    _Atomic uint32_t *wake;       /* the monitor's futex word */
    /* The preload's, where the loop is recognised and not told. */
    _Atomic(const _Atomic uint8_t *) waiting; /* verdict on the wait that the thread is in, if it was not idle
                                                 at its begin; NULL: in none. HD_WAIT_IDLE: idle after all */
    _Atomic uint64_t waiting_since;           /* ticks: its begin */
    _Atomic uint64_t launched;                /* ticks: when the loop first waited, as known afterwards; 0 */
    _Atomic bool lost;                        /* there was a loop and there is none: nothing is watched */
    _Atomic uint32_t changes; /* of what is taken for the loop: hangs that are open are void */
    _Atomic bool sure;        /* this is the program's loop beyond doubt */
    int tid;
};

static inline bool hd_activity_is_idle(unsigned activity) {
    return activity == HANGDOG_BEFORE_WAITING || activity == HANGDOG_EXIT;
}

static inline uint64_t hd_loop_ticks(const struct hd_loop *l) {
    return l->ticks_are_tsc ? hd_ticks_read() : hd_os_now_ns();
}

static inline uint64_t hd_ticks_to_ns(uint64_t ticks, uint64_t ns_per_tick_32) {
    return (uint64_t)(((unsigned __int128)ticks * ns_per_tick_32) >> 32);
}

/* A turn starts at entry, after waiting, and before the timers when the loop came round without waiting. */
static inline bool hd_turn_starts(unsigned old, unsigned activity) {
    return activity == HANGDOG_AFTER_WAITING || activity == HANGDOG_ENTRY ||
           (activity == HANGDOG_BEFORE_TIMERS &&
            (old == HANGDOG_BEFORE_SOURCES || old == HANGDOG_BEFORE_TIMERS));
}

/* The slow half of a mark, when the monitor asked for something. Async-signal-safe. */
void hd_loop_answer(struct hd_loop *l, uint32_t flags, bool turn_ended, bool running, uint64_t ticks);

#define HD_OWNER_ADD(field, amount)                                                                  \
    atomic_store_explicit(&(field), atomic_load_explicit(&(field), memory_order_relaxed) + (amount), \
                          memory_order_relaxed)

static inline void hd_turn_account(struct hd_loop *l, uint64_t ticks) {
    HD_OWNER_ADD(l->busy_ticks, ticks);
    uint64_t ns = hd_ticks_to_ns(ticks, atomic_load_explicit(&l->ns_per_tick_32, memory_order_relaxed));
    unsigned bucket = 63u - (unsigned)__builtin_clzll(ns | 1);
    if (bucket >= HD_TURN_HISTOGRAM) {
        bucket = HD_TURN_HISTOGRAM - 1;
    }
    HD_OWNER_ADD(l->histogram[bucket], 1);
    if (ns > atomic_load_explicit(&l->turn_max_ns, memory_order_relaxed)) {
        atomic_store_explicit(&l->turn_max_ns, ns, memory_order_relaxed);
    }
}

/* The mark. Owner only. Async-signal-safe. Returns its time. `activity` is a constant at each call, so that
 * most of this folds away. The sums come after the exchange: it waits for every store before it, and hides
 * what follows. */
static inline __attribute__((always_inline)) uint64_t hd_loop_mark(struct hd_loop *l, unsigned activity) {
    uint64_t now = hd_loop_ticks(l);
    uint64_t old = atomic_load_explicit(&l->word, memory_order_relaxed);
    uint64_t turn = atomic_load_explicit(&l->turn_ticks, memory_order_relaxed);
    unsigned before = (unsigned)(old & HD_ACTIVITY_MASK);
    bool starts = hd_turn_starts(before, activity);
    bool was_idle = hd_activity_is_idle(before);
    bool ends = !was_idle && (starts || hd_activity_is_idle(activity));
    /* At entry and after waiting the word itself says when the turn started; else that must be there before
     * it. */
    bool word_tells = activity == HANGDOG_ENTRY || activity == HANGDOG_AFTER_WAITING;
    if (starts && !word_tells) {
        atomic_store_explicit(&l->turn_ticks, now, memory_order_relaxed);
    }
    atomic_exchange_explicit(&l->word, now << HD_ACTIVITY_BITS | activity, memory_order_seq_cst);
    uint32_t flags = atomic_load_explicit(&l->flags, memory_order_seq_cst);
    if (starts && word_tells) {
        atomic_store_explicit(&l->turn_ticks, now, memory_order_relaxed);
    }
    if (ends) {
        hd_turn_account(l, now - turn);
    } else if (was_idle && starts) {
        HD_OWNER_ADD(l->idle_ticks, now - (old >> HD_ACTIVITY_BITS));
    }
    if (__builtin_expect(flags != 0, 0)) {
        hd_loop_answer(l, flags, ends, !hd_activity_is_idle(activity), now);
    }
    return now;
}

/* Entry and exit of loops that may nest: the outer turn starts anew when an inner loop is left. Owner only.
 */
void hd_loop_enter(struct hd_loop *l);
void hd_loop_exit(struct hd_loop *l);

/* What is known of one wait of a thread whose loop is recognised. */
enum hd_wait_verdict { HD_WAIT_UNKNOWN, HD_WAIT_IDLE, HD_WAIT_BUSY };

/* A wait that turned out to be idle after it had begun at `began`: as if it had been marked then. Owner only.
 */
static inline uint64_t hd_loop_waited(struct hd_loop *l, uint64_t began) {
    uint64_t old = atomic_load_explicit(&l->word, memory_order_relaxed);
    if (!hd_activity_is_idle((unsigned)(old & HD_ACTIVITY_MASK))) {
        hd_turn_account(l, began - atomic_load_explicit(&l->turn_ticks, memory_order_relaxed));
        atomic_exchange_explicit(&l->word, began << HD_ACTIVITY_BITS | HANGDOG_BEFORE_WAITING,
                                 memory_order_seq_cst);
        uint32_t flags = atomic_load_explicit(&l->flags, memory_order_seq_cst);
        if ((flags & HD_FLAG_TRACKED) != 0) {
            hd_loop_answer(l, flags, true, false, began);
        }
    }
    return hd_loop_mark(l, HANGDOG_AFTER_WAITING);
}

/* What the monitor reads. */
struct hd_loop_view {
    bool running;
    unsigned activity;
    uint64_t turn_ticks; /* start of the running turn */
    uint64_t word;
};
void hd_loop_view(struct hd_loop *l, struct hd_loop_view *out);

/* Before anything else is done with it. Counts as running from `start_ticks` when `running`. */
void hd_loop_init(struct hd_loop *l, _Atomic uint32_t *wake, int tid, bool ticks_are_tsc,
                  uint64_t ns_per_tick_32, uint64_t start_ticks, bool running);

#endif
