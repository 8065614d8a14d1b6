/* SPDX-License-Identifier: MIT
 *
 * The mark, the turn, its histogram, and frames. Watched thread: wait-free. No function here blocks,
 * allocates or makes a system call, but to wake the monitor where its flag is set.
 */
#ifndef HD_LOOP_H
#define HD_LOOP_H

#include <stdatomic.h>

#include "base/types.h"
#include "hangdog/hangdog.h"
#include "loop/wait_verdict.h"
#include "os/os.h"
#include "os/thread_id.h"
#include "os/ticks.h"

#define HD_TURN_HISTOGRAM 64 /* every length has a bucket: no check */

/* The monitor sets a flag, and reads the word some time later. The mark stores the word and then loads the
 * flags. A CPU may let that load pass the store. The store then waits in the store buffer: for nanoseconds,
 * or for microseconds where many stores before it miss the cache. That wait has a bound (Morrison and Afek,
 * "Temporally Bounding TSO for Fence-Free Asymmetric Synchronization", ASPLOS 2015). So the monitor waits
 * HD_SETTLE_NS between setting a flag and reading the word, and the mark needs no fence. An atomic exchange
 * cost twice the clock read on CPUs where the two do not overlap (17 against 8 ns). Without the wait, 1 of
 * 100 wake-ups was lost at the worst place. */
#define HD_SETTLE_NS (1 * HD_NS_PER_MS)
#define HD_FLAG_PARKED 1u  /* the monitor sleeps until a loop runs */
#define HD_FLAG_TRACKED 2u /* the monitor needs to know when this turn ends */

#define HD_ACTIVITY_BITS 3u
#define HD_ACTIVITY_MASK 7u

/* The frames that a loop presents. A frame takes the time since the frame before, without the loop's own
 * waits. So a program that draws only when something happens drops nothing while it is idle. The owner of the
 * loop writes all but the period. */
struct hd_frames {
    _Atomic uint64_t presented;
    _Atomic uint64_t dropped;  /* refreshes of the display without a new frame */
    _Atomic uint64_t time_ns;  /* of all frames but the first, which has no frame before it */
    _Atomic uint64_t hitch_ns; /* by how much the late ones were late */
    _Atomic uint64_t histogram[HD_FRAME_BUCKETS];
    uint64_t start_ticks; /* the loop's busy time at the start of the frame that is made now */
    uint64_t period_ns;   /* of the display's refresh */
};

/* Findings of the preload's recogniser about a loop, which come after the marks. The monitor and the worker
 * read them. All zeros where the program marks the loop itself. Times are in ticks. */
struct hd_loop_found {
    _Atomic uint64_t launched;     /* when the loop first waited: its launch ended; 0: unknown */
    _Atomic uint64_t ignored_turn; /* start of a turn that is not a hang, however long it is; 0 */
    _Atomic uint64_t resumed;      /* when the loop's last wait ended; 0: unknown */
    /* the last wait that was known for the loop's only when it was over; 0: there was none yet */
    _Atomic uint64_t waited_from, waited_to;
    _Atomic bool lost;         /* the loop was known and is no longer: nothing is watched */
    _Atomic uint32_t changes;  /* how often another loop became the loop: open hangs are void then */
    _Atomic bool has_evidence; /* not certain yet, but a freeze is reported */
    _Atomic bool certain;      /* certainly the program's loop */
};

struct hd_loop {
    /* one cache line: all that a mark reads and writes */
    _Alignas(64) _Atomic uint64_t word; /* ticks << 3 | activity, of the last mark */
    _Atomic uint32_t flags;             /* HD_FLAG_*: the monitor sets them, the mark clears them */
    _Atomic uint32_t depth;             /* of entries; owner */
    _Atomic uint64_t turn_ticks;        /* when the running turn started; owner writes */
    _Atomic uint64_t busy_ticks;        /* sum of ended turns, but for the last; owner writes */
    _Atomic uint64_t pending_ticks;     /* the turn that ended last, not yet in the sums; owner writes */
    _Atomic uint64_t ns_per_tick_32;    /* 32.32 fixed point; the monitor updates it */
    _Atomic bool ticks_are_tsc;         /* else nanoseconds of CLOCK_MONOTONIC */
    /* the slow path */
    _Alignas(64) _Atomic uint64_t histogram[HD_TURN_HISTOGRAM]; /* turns of 2^i .. 2^(i+1) ns; owner writes */
    _Atomic uint64_t started_ticks;                             /* of the watch */
    /* The activity, where ticks are of the clock. Such a loop's words say only running or idle, in codes that
     * fail the test of each quick mark. */
    _Atomic uint8_t by_clock;
    _Atomic uint64_t tracked_end;   /* ticks: end of the tracked turn; written before TRACKED is cleared */
    _Atomic uint32_t expected;      /* depth of hangdog_expect_block */
    _Atomic uint32_t *_Atomic wake; /* the monitor's futex word */
    /* The preload: the verdict on the thread's wait, if that did not start as an idle one. HD_WAIT_IDLE: the
     * wait is idle after all. NULL: there is no such wait. */
    _Atomic(const _Atomic uint8_t *) waiting;
    _Atomic uint64_t waiting_since; /* ticks: start of that wait */
    struct hd_loop_found found;
    _Atomic hd_thread_id thread; /* the owner */
    struct hd_frames frames;
};

/* The word's last three bits: hangdog_activity in other numbers. One bit says that the loop runs, and zero
 * that it waits, so that each mark tests as little as possible. */
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
/* The word of a loop whose ticks are the counter's. */
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

/* A turn starts at an entry, after a wait, and at the first mark after an idle one. It also starts before the
 * timers where the loop came round without a wait. */
static inline bool hd_loop_turn_starts(unsigned before, unsigned activity) {
    return activity == HANGDOG_AFTER_WAITING || activity == HANGDOG_ENTRY ||
           (hd_activity_is_idle(before) && !hd_activity_is_idle(activity)) ||
           (activity == HANGDOG_BEFORE_TIMERS &&
            (before == HANGDOG_BEFORE_SOURCES || before == HANGDOG_BEFORE_TIMERS));
}

/* When the turn of a running word started. The word of an entry or of a wait's end has that time itself. */
static inline uint64_t hd_loop_turn_start(const struct hd_loop *l, uint64_t word, unsigned activity) {
    return activity == HANGDOG_ENTRY || activity == HANGDOG_AFTER_WAITING
               ? word >> HD_ACTIVITY_BITS
               : atomic_load_explicit(&l->turn_ticks, memory_order_relaxed);
}

/* The slow half of a mark, where a flag is set. Async-signal-safe. */
void hd_loop_answer(struct hd_loop *l, uint32_t flags, bool turn_ended, bool running, uint64_t ticks);

/* Adds where only the owner writes: without a lock, in one instruction where the CPU has it. */
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

/* Adds the turn that ended last to the sums. */
static inline void hd_loop_turn_account(struct hd_loop *l) {
    uint64_t ticks = atomic_load_explicit(&l->pending_ticks, memory_order_relaxed);
    uint64_t ns = hd_ticks_to_ns(ticks, atomic_load_explicit(&l->ns_per_tick_32, memory_order_relaxed));
    HD_OWNER_ADD(l->busy_ticks, ticks);
    HD_OWNER_ADD(l->histogram[hd_turn_bucket(ns)], 1);
}

/* Stores the word, and answers the monitor's flags. */
static inline __attribute__((always_inline)) void hd_loop_store(struct hd_loop *l, unsigned activity,
                                                                uint64_t word, bool ends, uint64_t now) {
    atomic_store_explicit(&l->word, word, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst); /* for the compiler; HD_SETTLE_NS is for the CPU */
    uint32_t flags = atomic_load_explicit(&l->flags, memory_order_relaxed);
    if (__builtin_expect(flags != 0, 0)) {
        hd_loop_answer(l, flags, ends, !hd_activity_is_idle(activity), now);
    }
}

/* The mark at `now`, of any activity after any other. Owner only. Async-signal-safe. */
void hd_loop_mark_at(struct hd_loop *l, unsigned activity, uint64_t now);
/* The same, now: for the cases that the quick marks below do not handle. Returns its time. */
uint64_t hd_loop_mark_any(struct hd_loop *l, unsigned activity);

/* The quick marks, at some 10 ns: each instruction counts. All but the common case is a tail call. A turn's
 * length is stored when the turn ends, and added to the sums when the next turn ends, before that mark reads
 * the clock. For CPUs let a clock read wait for what comes before it, and no sum then waits for a clock read.
 * (A sum at the start of the next turn cost 12.7 ns a mark instead of 11.9.) Owner only. Async-signal-safe.
 * They return their time. */
static inline __attribute__((always_inline)) uint64_t hd_loop_turn_end(struct hd_loop *l, uint64_t old) {
    hd_loop_turn_account(l);
    atomic_signal_fence(memory_order_seq_cst); /* the compiler keeps this order too */
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

/* Entry and exit of loops that may nest: when an inner loop is left, the outer loop's turn starts again.
 * Owner only. */
void hd_loop_enter(struct hd_loop *l);
/* A loop that has a turn without an entry has none at all, so that the next entry is an inner loop's. Call it
 * also before a block that the program expects: its end looks like an entry. Owner only. */
void hd_loop_note_outer(struct hd_loop *l);
void hd_loop_exit(struct hd_loop *l);

/* A wait ends that was found to be idle after it had started: both marks, the first at its start. Owner only.
 */
static inline uint64_t hd_loop_waited(struct hd_loop *l, uint64_t start_ticks) {
    if ((atomic_load_explicit(&l->word, memory_order_relaxed) & HD_WORD_RUNNING) != 0) {
        hd_loop_mark_at(l, HANGDOG_BEFORE_WAITING, start_ticks);
    }
    return hd_loop_mark(l, HANGDOG_AFTER_WAITING);
}

static inline hd_thread_id hd_loop_thread(const struct hd_loop *l) {
    return atomic_load_explicit(&l->thread, memory_order_relaxed);
}

/* A frame was presented. `waited`: ticks of a wait that belong to the frame, the wait for the display. Owner
 * only. Async-signal-safe. */
void hd_frames_add(struct hd_loop *l, uint64_t waited);

/* The loop as the monitor sees it. */
struct hd_loop_view {
    bool running;
    unsigned activity;
    uint64_t turn_ticks; /* start of the running turn */
    uint64_t word;
};
void hd_loop_view(struct hd_loop *l, struct hd_loop_view *out);

/* Call it first. `running`: the loop counts as in a turn that started at `start_ticks`. */
void hd_loop_init(struct hd_loop *l, _Atomic uint32_t *wake, hd_thread_id thread, bool ticks_are_tsc,
                  uint64_t ns_per_tick_32, uint64_t start_ticks, bool running);

#endif
