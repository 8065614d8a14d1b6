/* SPDX-License-Identifier: MIT
 *
 * The mark, the turn, the histogram of turn lengths, and the frames that the program draws for the display.
 * The functions that store a mark or count a frame run on the watched thread and are wait-free. None of them
 * blocks or allocates memory. Their only system call wakes the monitor, and they make it only if the monitor
 * has set a flag.
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

/* The number of buckets in the histogram of turn lengths: one for each power of two nanoseconds. Each length
 * of 64 bits has a bucket, so a mark need not check the array's bound. */
#define HD_TURN_HISTOGRAM 64

/* The monitor sets a flag in `flags`, and some time later reads `word`. The mark does the reverse: it stores
 * the word, then loads the flags. A CPU may load the flags before other CPUs see the word, because a stored
 * word stays in the CPU's store buffer for some time. This time is nanoseconds, or microseconds if many
 * stores before it miss the cache. It has a bound (Morrison and Afek, "Temporally Bounding TSO for Fence-Free
 * Asymmetric Synchronization", ASPLOS 2015). So the monitor lets HD_SETTLE_NS pass between setting a flag and
 * reading the word. A mark that loaded the flags too early has its word visible by then, so the mark needs no
 * fence. An atomic exchange instead of the store would cost 17 ns on some CPUs, twice as much as the clock
 * read (8 ns). In the worst case, without HD_SETTLE_NS, 1 of 100 wake-ups of the monitor was lost. */
#define HD_SETTLE_NS (1 * HD_NS_PER_MS)
#define HD_FLAG_PARKED 1u /* the monitor is parked: the first mark that starts a turn wakes it */
/* the monitor tracks the turn: the mark that ends the turn stores its time in tracked_end, and wakes the
 * monitor */
#define HD_FLAG_TRACKED 2u

#define HD_ACTIVITY_BITS 3u
#define HD_ACTIVITY_MASK 7u

/* The display frames that a loop presents. The time of a frame is the time since the frame before, without
 * the loop's own waits. So a program that draws only when something happens drops no frames while it is idle.
 * Only the loop's thread writes these members: it sets period_ns when its watch starts, and the others at
 * each frame. */
struct hd_frames {
    _Atomic uint64_t presented; /* the number of frames that the loop has presented so far */
    _Atomic uint64_t dropped;   /* the number of display refreshes that got no new frame */
    _Atomic uint64_t time_ns;   /* the time of all frames but the first, which has no frame before it */
    _Atomic uint64_t hitch_ns;  /* for how long late frames were late, summed over all late frames */
    _Atomic uint64_t histogram[HD_FRAME_BUCKETS];
    uint64_t start_ticks; /* busy_ticks + pending_ticks of the loop when the present frame started */
    uint64_t period_ns;   /* the time between two refreshes of the display */
};

/* The findings of the preload's recogniser about a loop, which it stores later than the loop stores its
 * marks. The monitor and the worker read these findings. All members are zero if the program marks the loop
 * itself. Times are in ticks. */
struct hd_loop_found {
    _Atomic uint64_t launched; /* when the loop first waited, which ended its launch; 0: unknown */
    /* when a turn started that does not count as a hang, however long it lasts; 0: there is none */
    _Atomic uint64_t ignored_turn;
    _Atomic uint64_t resumed; /* when the loop's last wait ended; 0: unknown */
    /* Start and end of the newest wait that was recognised as the loop's own only after its end. 0: no wait
     * was recognised so late yet. */
    _Atomic uint64_t waited_from, waited_to;
    /* true: the recogniser has stopped looking for the thread's loop, so the monitor watches no turn of this
     * thread */
    _Atomic bool lost;
    /* how often the recogniser has replaced the thread's loop by another; at each replacement, hangs of the
     * thread that still last become void */
    _Atomic uint32_t changes;
    /* true: there is evidence for this loop, so a hang of 5 s is reported even before the loop is certain */
    _Atomic bool has_evidence;
    _Atomic bool certain; /* true: the loop is certain */
};

struct hd_loop {
    /* The members from here to ticks_are_tsc are in one cache line. The quick marks (the inline functions
     * below that store a mark) use only these members and the histogram. */
    /* the newest mark: (the mark's time in ticks) << 3 | the code of the mark's activity */
    _Alignas(64) _Atomic uint64_t word;
    _Atomic uint32_t flags; /* HD_FLAG_*: the monitor sets them, the mark clears them */
    /* The owner (the loop's thread) writes the next four members. */
    _Atomic uint32_t depth;      /* how many loops are nested in each other now */
    _Atomic uint64_t turn_ticks; /* when the running turn started */
    _Atomic uint64_t busy_ticks; /* the sum of the lengths of all ended turns but the last */
    /* the length of the last ended turn, which busy_ticks and the histogram do not have yet */
    _Atomic uint64_t pending_ticks;
    _Atomic uint64_t ns_per_tick_32; /* the length of a tick, in 32.32 fixed point; the monitor updates it */
    _Atomic bool ticks_are_tsc;      /* false: ticks are nanoseconds of CLOCK_MONOTONIC */
    /* No quick mark needs the members from here on, except the histogram. The owner counts in histogram[i]
     * the turns of 2^i to 2^(i+1) ns. */
    _Alignas(64) _Atomic uint64_t histogram[HD_TURN_HISTOGRAM];
    _Atomic uint64_t started_ticks; /* when the watch started */
    /* The activity of the newest mark, for a loop whose ticks are nanoseconds. The word of such a loop says
     * only whether the loop runs. For such a word each quick mark calls hd_loop_mark_any, which reads the
     * clock instead of the counter. */
    _Atomic uint8_t by_clock;
    /* when the tracked turn ended, in ticks; the mark sets this member before it clears HD_FLAG_TRACKED */
    _Atomic uint64_t tracked_end;
    _Atomic uint32_t expected;      /* how many blocks that hangdog_expect_block announced have not ended */
    _Atomic uint32_t *_Atomic wake; /* the monitor's futex word */
    /* In the preload: the address of the verdict of the wait that the thread is in, if no mark was stored at
     * the wait's start. The verdict may become HD_WAIT_IDLE during the wait. NULL: the thread is in no wait,
     * or a mark was stored at the wait's start. */
    _Atomic(const _Atomic uint8_t *) waiting;
    _Atomic uint64_t waiting_since; /* when the wait started whose verdict `waiting` points to, in ticks */
    struct hd_loop_found found;
    _Atomic hd_thread_id thread; /* the owner: the thread that runs the loop */
    struct hd_frames frames;
};

/* The last three bits of hd_loop.word are a code for hangdog_activity. The code has the bit HD_WORD_RUNNING
 * if the loop is in a turn, and the code is 0 if the loop is in its wait. With these codes a quick mark needs
 * one test to see whether it can handle the word. */
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
/* Returns whether the word has the code of HANGDOG_AFTER_WAITING. This test takes one instruction less than a
 * comparison with the code. */
static inline bool hd_word_says_turn(uint64_t word) {
    return ((word + 1) & HD_ACTIVITY_MASK) == 0;
}
/* Makes the word of a mark, from the mark's time and activity. */
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

/* Returns the activity of the newest mark, whose word is `word`. */
static inline unsigned hd_loop_activity(const struct hd_loop *l, uint64_t word) {
    return hd_loop_by_counter(l) ? hd_word_activity(word)
                                 : atomic_load_explicit(&l->by_clock, memory_order_relaxed);
}

/* Returns whether a mark of `activity` starts a turn, if the mark before it was of the activity `before`. A
 * turn starts at an entry, after a wait, and at the first running mark after the loop was idle. If the loop
 * goes round again without a wait, the new turn starts at HANGDOG_BEFORE_TIMERS. */
static inline bool hd_loop_turn_starts(unsigned before, unsigned activity) {
    return activity == HANGDOG_AFTER_WAITING || activity == HANGDOG_ENTRY ||
           (hd_activity_is_idle(before) && !hd_activity_is_idle(activity)) ||
           (activity == HANGDOG_BEFORE_TIMERS &&
            (before == HANGDOG_BEFORE_SOURCES || before == HANGDOG_BEFORE_TIMERS));
}

/* Returns when the running turn started, in ticks. The result has a meaning only if `word` says that the loop
 * runs. If the newest mark is an entry or the end of a wait, the turn started at that mark. */
static inline uint64_t hd_loop_turn_start(const struct hd_loop *l, uint64_t word, unsigned activity) {
    return activity == HANGDOG_ENTRY || activity == HANGDOG_AFTER_WAITING
               ? word >> HD_ACTIVITY_BITS
               : atomic_load_explicit(&l->turn_ticks, memory_order_relaxed);
}

/* The slow half of a mark. A mark calls this function only if the monitor has set a flag. The function clears
 * the flags that the mark answers. If it cleared one, it wakes the monitor. Async-signal-safe. */
void hd_loop_answer(struct hd_loop *l, uint32_t flags, bool turn_ended, bool running, uint64_t ticks);

/* Adds to a variable that only the loop's thread writes. No other thread can store a value between this
 * addition's load and store, so the addition needs no lock. It takes one instruction if the CPU can add to
 * memory. */
#if defined(__x86_64__)
#define HD_OWNER_ADD(field, amount) __asm__("addq %1, %0" : "+m"(field) : "er"((uint64_t)(amount)) : "cc")
#else
#define HD_OWNER_ADD(field, amount)                                                                  \
    atomic_store_explicit(&(field), atomic_load_explicit(&(field), memory_order_relaxed) + (amount), \
                          memory_order_relaxed)
#endif

static inline uint64_t hd_turn_bucket(uint64_t ns) {
/* This assembly replaces the compiler's __builtin_clzll, which returns an int and therefore takes two
 * instructions more. */
#if defined(__x86_64__)
    uint64_t highest;
    __asm__("bsrq %1, %0" : "=r"(highest) : "r"(ns | 1) : "cc");
    return highest;
#else
    return 63u - (unsigned)__builtin_clzll(ns | 1);
#endif
}

/* Adds the last ended turn, whose length is in pending_ticks, to the sum busy_ticks and to the histogram. */
static inline void hd_loop_turn_account(struct hd_loop *l) {
    uint64_t ticks = atomic_load_explicit(&l->pending_ticks, memory_order_relaxed);
    uint64_t ns = hd_ticks_to_ns(ticks, atomic_load_explicit(&l->ns_per_tick_32, memory_order_relaxed));
    HD_OWNER_ADD(l->busy_ticks, ticks);
    HD_OWNER_ADD(l->histogram[hd_turn_bucket(ns)], 1);
}

/* Stores the word of a mark, and answers the monitor's flags. */
static inline __attribute__((always_inline)) void hd_loop_store(struct hd_loop *l, unsigned activity,
                                                                uint64_t word, bool ends, uint64_t now) {
    atomic_store_explicit(&l->word, word, memory_order_release);
    /* The fence keeps the compiler from loading the flags before it stores the word. A CPU may still load
     * them first, and therefore the monitor lets HD_SETTLE_NS pass before it reads the word. */
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t flags = atomic_load_explicit(&l->flags, memory_order_relaxed);
    if (__builtin_expect(flags != 0, 0)) {
        hd_loop_answer(l, flags, ends, !hd_activity_is_idle(activity), now);
    }
}

/* Stores a mark at the time `now`, in ticks; any activity may follow any other. On the loop's thread.
 * Async-signal-safe. */
void hd_loop_mark_at(struct hd_loop *l, unsigned activity, uint64_t now);
/* Stores a mark at the present time, in the cases that the quick marks below do not handle. Returns that
 * time in ticks. On the loop's thread. Async-signal-safe. */
uint64_t hd_loop_mark_any(struct hd_loop *l, unsigned activity);

/* The quick marks take some 10 ns, so each instruction counts. They handle each rare case by a tail call of
 * hd_loop_mark_any. If a mark added the length of the turn that it ends, the addition would start only after
 * the clock read. So the mark only stores this length, and the mark that ends the next turn adds it before it
 * reads the clock. (When the mark at the next turn's start did the addition, a mark took 12.7 ns instead of
 * 11.9.) Each quick mark returns its time in ticks. On the loop's thread. Async-signal-safe. */
static inline __attribute__((always_inline)) uint64_t hd_loop_turn_end(struct hd_loop *l, uint64_t old) {
    hd_loop_turn_account(l);
    /* The fence keeps the compiler from reading the clock before it stores the sums. */
    atomic_signal_fence(memory_order_seq_cst);
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

/* The mark at which one turn ends and the next one starts. The loop has no wait between the two turns, or a
 * wait with timeout 0. */
static inline __attribute__((always_inline)) uint64_t hd_loop_turn(struct hd_loop *l) {
    uint64_t old = atomic_load_explicit(&l->word, memory_order_relaxed);
    if (__builtin_expect(!hd_word_says_turn(old), 0)) {
        return hd_loop_mark_any(l, HANGDOG_AFTER_WAITING);
    }
    uint64_t now = hd_loop_turn_end(l, old);
    hd_loop_store(l, HANGDOG_AFTER_WAITING, hd_word(now, HANGDOG_AFTER_WAITING), true, now);
    return now;
}

/* Stores a mark of any activity. Callers pass `activity` as a constant, so the compiler selects the quick
 * mark for that activity at compile time. */
static inline __attribute__((always_inline)) uint64_t hd_loop_mark(struct hd_loop *l, unsigned activity) {
    return activity == HANGDOG_BEFORE_WAITING  ? hd_loop_before_wait(l)
           : activity == HANGDOG_AFTER_WAITING ? hd_loop_after_wait(l)
                                               : hd_loop_mark_any(l, activity);
}

/* Mark the entry and the exit of a loop. Loops may nest: when an inner loop is left, a new turn of the outer
 * loop starts. On the loop's thread. */
void hd_loop_enter(struct hd_loop *l);
void hd_loop_exit(struct hd_loop *l);
/* Sets `depth` to 1 if a loop runs but has marked no entry. So the next entry counts as an inner loop's. The
 * function hangdog_expect_block must call this one before the block. The block's end is marked as an entry,
 * so a call after it would change nothing. On the loop's thread. */
void hd_loop_note_outer(struct hd_loop *l);

/* Marks the end of a wait, if the recogniser found only after the wait's start that the wait is the loop's
 * own. If the newest mark says that the loop runs, first stores a mark at the wait's start. On the loop's
 * thread. */
static inline uint64_t hd_loop_waited(struct hd_loop *l, uint64_t start_ticks) {
    if ((atomic_load_explicit(&l->word, memory_order_relaxed) & HD_WORD_RUNNING) != 0) {
        hd_loop_mark_at(l, HANGDOG_BEFORE_WAITING, start_ticks);
    }
    return hd_loop_mark(l, HANGDOG_AFTER_WAITING);
}

static inline hd_thread_id hd_loop_thread(const struct hd_loop *l) {
    return atomic_load_explicit(&l->thread, memory_order_relaxed);
}

/* Counts a frame that the program has presented on the display. `waited`: how many ticks the program was
 * blocked until the display was ready; this time is a part of the frame's time. On the loop's thread.
 * Async-signal-safe. */
void hd_frames_add(struct hd_loop *l, uint64_t waited);

/* The state of a loop, as the monitor reads it by hd_loop_view(). */
struct hd_loop_view {
    bool running;
    unsigned activity;
    uint64_t turn_ticks; /* when the running turn started */
    uint64_t word;
};
void hd_loop_view(struct hd_loop *l, struct hd_loop_view *out);
/* Returns whether the turn that started at `start_ticks` still lasts. Returns true for a loop that stores no
 * marks, which another process watches. */
bool hd_loop_is_in_turn(struct hd_loop *l, uint64_t start_ticks);

/* Sets all members of the loop, before its first mark. `running`: true if the loop starts in a turn, which
 * started at `start_ticks`; false if it starts idle. */
void hd_loop_init(struct hd_loop *l, _Atomic uint32_t *wake, hd_thread_id thread, bool ticks_are_tsc,
                  uint64_t ns_per_tick_32, uint64_t start_ticks, bool running);

#endif
