/* SPDX-License-Identifier: MIT
 *
 * Watched thread: wait-free. The mark, the turn and its histogram. Nothing here blocks, allocates or makes a
 * system call, but for the wake of a monitor that asked for it.
 */
#ifndef HD_LOOP_H
#define HD_LOOP_H

#include <stdatomic.h>

#include "base/types.h"
#include "hangdog/hangdog.h"
#include "loop/frames.h"
#include "os/os.h"
#include "os/thread_id.h"
#include "os/ticks.h"

#define HD_TURN_HISTOGRAM 64 /* every length has a bucket: no check */

/* Flags that the monitor sets, and reads the word some time after; the mark stores the word and then loads
 * them. A processor may let that load pass the store, which then waits in its store buffer: nanoseconds,
 * microseconds when many stores before it miss the cache, but not for ever (Morrison and Afek, "Temporally
 * Bounding TSO for Fence-Free Asymmetric Synchronization", ASPLOS 2015). So it is the monitor who waits,
 * HD_SETTLE_NS between setting a flag and reading the word, and the mark needs no fence: an atomic exchange
 * cost twice the clock read on processors where the two do not overlap (17 against 8 ns). Without the wait, 1
 * of 100 wake-ups was lost at the worst place. */
#define HD_SETTLE_NS (1 * HD_NS_PER_MS)
#define HD_FLAG_PARKED 1u  /* the monitor sleeps until somebody runs */
#define HD_FLAG_TRACKED 2u /* the monitor wants to know when this turn ends */

#define HD_ACTIVITY_BITS 3u
#define HD_ACTIVITY_MASK 7u

struct hd_loop {
    /* one cache line: what a mark touches */
    _Alignas(64) _Atomic uint64_t word; /* ticks << 3 | activity, of the last mark */
    _Atomic uint32_t flags;
    _Atomic uint32_t depth;      /* of entries; owner */
    _Atomic uint64_t turn_ticks; /* when the running turn started; owner writes */
    _Atomic uint64_t busy_ticks; /* sum of ended turns, but for the last; owner writes */
    _Atomic uint64_t
        pending_ticks; /* the turn that ended last, which the sums do not have yet; owner writes */
    _Atomic uint64_t ns_per_tick_32; /* 32.32 fixed point; the monitor keeps it true */
    _Atomic bool ticks_are_tsc;      /* else nanoseconds of CLOCK_MONOTONIC */
    /* the rest: seldom */
    _Alignas(64) _Atomic uint64_t histogram[HD_TURN_HISTOGRAM]; /* turns of 2^i .. 2^(i+1) ns; owner writes */
    _Atomic uint64_t started_ticks;                             /* of the watch */
    _Atomic uint8_t by_clock; /* the activity, where the counter is not to be trusted: such a loop's words say
                                 only running or idle, in codes that fail each quick test */
    _Atomic uint64_t tracked_end; /* ticks: when the tracked turn ended; written before TRACKED is cleared */
    _Atomic uint32_t expected;    /* depth of hangdog_expect_block */
    _Atomic uint32_t *_Atomic wake; /* the monitor's futex word */
    /* The preload's, where the loop is recognised and not told. */
    _Atomic(const _Atomic uint8_t *) waiting; /* verdict on the wait that the thread is in, if it was not idle
                                                 at its begin; NULL: in none. HD_WAIT_IDLE: idle after all */
    _Atomic uint64_t waiting_since;           /* ticks: its begin */
    _Atomic uint64_t launched;                /* ticks: when the loop first waited, as known afterwards; 0 */
    _Atomic uint64_t ignored_turn; /* ticks: start of a turn that is no hang, however long it is; 0 */
    _Atomic uint64_t resumed;      /* ticks: when it last had waited, as known afterwards; 0: nobody knows */
    _Atomic uint64_t waited_from, waited_to; /* ticks: the last of its waits that was known for one only when
                                                it was over; 0 */
    _Atomic hd_thread_id thread;             /* the owner */
    _Atomic bool lost;                       /* there was a loop and there is none: nothing is watched */
    _Atomic uint32_t changes;                /* of what is taken for the loop: hangs that are open are void */
    _Atomic bool has_evidence;               /* not certain yet: a freeze is reported all the same */
    _Atomic bool sure;                       /* this is the program's loop beyond doubt */
    struct hd_frames frames;
};

/* The word's last three bits: hangdog_activity, renumbered so that one bit says running and nothing at all
 * that the loop waits: each mark then tests as little as can be. */
#define HD_WORD_RUNNING 4u
static inline unsigned hd_word_code(unsigned activity) {
    static const unsigned char codes[] = {
        [HANGDOG_ENTRY] = 4,          [HANGDOG_BEFORE_TIMERS] = 5, [HANGDOG_BEFORE_SOURCES] = 6,
        [HANGDOG_BEFORE_WAITING] = 0, [HANGDOG_AFTER_WAITING] = 7, [HANGDOG_EXIT] = 1};
    return codes[activity];
}
static inline unsigned hd_word_activity(uint64_t word) {
    static const unsigned char activities[] = {
        HANGDOG_BEFORE_WAITING, HANGDOG_EXIT,          HANGDOG_EXIT,           HANGDOG_EXIT,
        HANGDOG_ENTRY,          HANGDOG_BEFORE_TIMERS, HANGDOG_BEFORE_SOURCES, HANGDOG_AFTER_WAITING};
    return activities[word & HD_ACTIVITY_MASK];
}
/* The code of HANGDOG_AFTER_WAITING, in one instruction less. */
static inline bool hd_word_says_turn(uint64_t word) {
    return ((word + 1) & HD_ACTIVITY_MASK) == 0;
}
/* A word of a loop by the counter. */
static inline uint64_t hd_word(uint64_t ticks, unsigned activity) {
    return ticks << HD_ACTIVITY_BITS | hd_word_code(activity);
}

static inline bool hd_activity_is_idle(unsigned activity) {
    return activity == HANGDOG_BEFORE_WAITING || activity == HANGDOG_EXIT;
}

static inline bool hd_loop_by_counter(const struct hd_loop *l) {
    return atomic_load_explicit(&l->ticks_are_tsc, memory_order_relaxed);
}

static inline uint64_t hd_loop_ticks(const struct hd_loop *l) {
    return hd_loop_by_counter(l) ? hd_ticks_read() : hd_os_now_ns();
}

/* The activity of the loop's word. */
static inline unsigned hd_loop_activity(const struct hd_loop *l, uint64_t word) {
    return hd_loop_by_counter(l) ? hd_word_activity(word)
                                 : atomic_load_explicit(&l->by_clock, memory_order_relaxed);
}

/* A turn starts at entry, after waiting, whatever is told first, and before the timers when the loop came
 * round without waiting. */
static inline bool hd_loop_turn_starts(unsigned before, unsigned activity) {
    return activity == HANGDOG_AFTER_WAITING || activity == HANGDOG_ENTRY ||
           (hd_activity_is_idle(before) && !hd_activity_is_idle(activity)) ||
           (activity == HANGDOG_BEFORE_TIMERS &&
            (before == HANGDOG_BEFORE_SOURCES || before == HANGDOG_BEFORE_TIMERS));
}

/* When the turn of a running word started: the word of an entry and of the end of a wait says it. */
static inline uint64_t hd_loop_turn_start(const struct hd_loop *l, uint64_t word, unsigned activity) {
    return activity == HANGDOG_ENTRY || activity == HANGDOG_AFTER_WAITING
               ? word >> HD_ACTIVITY_BITS
               : atomic_load_explicit(&l->turn_ticks, memory_order_relaxed);
}

/* The slow half of a mark, when the monitor asked for something. Async-signal-safe. */
void hd_loop_answer(struct hd_loop *l, uint32_t flags, bool turn_ended, bool running, uint64_t ticks);

/* Only the owner writes: no lock, and one instruction where the machine has it. */
#if defined(__x86_64__)
#define HD_OWNER_ADD(field, amount) __asm__("addq %1, %0" : "+m"(field) : "er"((uint64_t)(amount)) : "cc")
#else
#define HD_OWNER_ADD(field, amount)                                                                  \
    atomic_store_explicit(&(field), atomic_load_explicit(&(field), memory_order_relaxed) + (amount), \
                          memory_order_relaxed)
#endif

static inline uint64_t hd_turn_bucket(uint64_t ns) {
#if defined(__x86_64__) /* compilers make two more instructions of an int */
    uint64_t highest;
    __asm__("bsrq %1, %0" : "=r"(highest) : "r"(ns | 1) : "cc");
    return highest;
#else
    return 63u - (unsigned)__builtin_clzll(ns | 1);
#endif
}

/* The turn that ended last. */
static inline void hd_loop_turn_account(struct hd_loop *l) {
    uint64_t ticks = atomic_load_explicit(&l->pending_ticks, memory_order_relaxed);
    uint64_t ns = hd_ticks_to_ns(ticks, atomic_load_explicit(&l->ns_per_tick_32, memory_order_relaxed));
    HD_OWNER_ADD(l->busy_ticks, ticks);
    HD_OWNER_ADD(l->histogram[hd_turn_bucket(ns)], 1);
}

/* Writes the word and answers what the monitor asked. */
static inline __attribute__((always_inline)) void hd_loop_store(struct hd_loop *l, unsigned activity,
                                                                uint64_t word, bool ends, uint64_t now) {
    atomic_store_explicit(&l->word, word, memory_order_release);
    atomic_signal_fence(
        memory_order_seq_cst); /* the compiler keeps the order; HD_SETTLE_NS is the processor's */
    uint32_t flags = atomic_load_explicit(&l->flags, memory_order_relaxed);
    if (__builtin_expect(flags != 0, 0)) {
        hd_loop_answer(l, flags, ends, !hd_activity_is_idle(activity), now);
    }
}

/* The mark at `now`, of any activity after any other. Owner only. Async-signal-safe. */
void hd_loop_mark_at(struct hd_loop *l, unsigned activity, uint64_t now);
/* The same, now: what the quick ones below leave. Returns its time. */
uint64_t hd_loop_mark_any(struct hd_loop *l, unsigned activity);

/* The quick ones. What counts here is the number of instructions, at some 10 ns. Everything that is not the
 * common case is a tail call. A turn's length is put by when it ends and summed when the next one ends,
 * before that one's clock is read: processors make a clock read wait for what comes before it (summed when
 * the next one started, 12.7 ns a mark instead of 11.9), and no length then hangs on the clock read just
 * before. Owner only. Async-signal-safe. They return their time. */
static inline __attribute__((always_inline)) uint64_t hd_loop_turn_end(struct hd_loop *l, uint64_t old) {
    hd_loop_turn_account(l);
    atomic_signal_fence(memory_order_seq_cst); /* the compiler keeps this order, too */
    uint64_t now = hd_ticks_read();
    atomic_store_explicit(&l->pending_ticks, now - (old >> HD_ACTIVITY_BITS), memory_order_relaxed);
    return now;
}

static inline __attribute__((always_inline)) uint64_t hd_loop_before_wait(struct hd_loop *l) {
    uint64_t old = atomic_load_explicit(&l->word, memory_order_relaxed);
    if (__builtin_expect(!hd_word_says_turn(old), 0)) {
        return hd_loop_mark_any(l, HANGDOG_BEFORE_WAITING);
    }
    uint64_t now = hd_loop_turn_end(l, old);
    hd_loop_store(l, HANGDOG_BEFORE_WAITING, hd_word(now, HANGDOG_BEFORE_WAITING), true, now);
    return now;
}

static inline __attribute__((always_inline)) uint64_t hd_loop_after_wait(struct hd_loop *l) {
    uint64_t old = atomic_load_explicit(&l->word, memory_order_relaxed);
    if (__builtin_expect((old & HD_ACTIVITY_MASK) != hd_word_code(HANGDOG_BEFORE_WAITING), 0)) {
        return hd_loop_mark_any(l, HANGDOG_AFTER_WAITING);
    }
    uint64_t now = hd_ticks_read();
    hd_loop_store(l, HANGDOG_AFTER_WAITING, hd_word(now, HANGDOG_AFTER_WAITING), false, now);
    return now;
}

/* A wait with zero timeout: one turn ends, the next starts. */
static inline __attribute__((always_inline)) uint64_t hd_loop_turn(struct hd_loop *l) {
    uint64_t old = atomic_load_explicit(&l->word, memory_order_relaxed);
    if (__builtin_expect(!hd_word_says_turn(old), 0)) {
        return hd_loop_mark_any(l, HANGDOG_AFTER_WAITING);
    }
    uint64_t now = hd_loop_turn_end(l, old);
    hd_loop_store(l, HANGDOG_AFTER_WAITING, hd_word(now, HANGDOG_AFTER_WAITING), true, now);
    return now;
}

/* Any of them. `activity` is a constant at each call. */
static inline __attribute__((always_inline)) uint64_t hd_loop_mark(struct hd_loop *l, unsigned activity) {
    return activity == HANGDOG_BEFORE_WAITING  ? hd_loop_before_wait(l)
           : activity == HANGDOG_AFTER_WAITING ? hd_loop_after_wait(l)
                                               : hd_loop_mark_any(l, activity);
}

/* Entry and exit of loops that may nest: the outer turn starts anew when an inner loop is left. Owner only.
 */
void hd_loop_enter(struct hd_loop *l);
/* A loop that turns and has not told its entry never will: the next entry is an inner one's. To be asked
 * before a block that is meant, too: its end looks like an entry. Owner only. */
void hd_loop_note_outer(struct hd_loop *l);
void hd_loop_exit(struct hd_loop *l);

/* What is known of one wait of a thread whose loop is recognised. */
enum hd_wait_verdict {
    HD_WAIT_UNKNOWN,
    HD_WAIT_IDLE,
    HD_WAIT_BUSY
};

/* A wait that turned out to be idle after it had begun at `began`: as if it had been marked then. Owner only.
 */
static inline uint64_t hd_loop_waited(struct hd_loop *l, uint64_t began) {
    if ((atomic_load_explicit(&l->word, memory_order_relaxed) & HD_WORD_RUNNING) != 0) {
        hd_loop_mark_at(l, HANGDOG_BEFORE_WAITING, began);
    }
    return hd_loop_mark(l, HANGDOG_AFTER_WAITING);
}

static inline hd_thread_id hd_loop_thread(const struct hd_loop *l) {
    return atomic_load_explicit(&l->thread, memory_order_relaxed);
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
void hd_loop_init(struct hd_loop *l, _Atomic uint32_t *wake, hd_thread_id thread, bool ticks_are_tsc,
                  uint64_t ns_per_tick_32, uint64_t start_ticks, bool running);

#endif
