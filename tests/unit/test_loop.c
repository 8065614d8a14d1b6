/* SPDX-License-Identifier: MIT
 *
 * The mark: what begins and ends a turn, its sums and histogram, what it answers to the monitor's flags, and
 * that no wake-up is lost between the two.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loop/loop.h"
#include "monitor/monitor.h"

#define ACTIVITY(l) hd_loop_activity(l, atomic_load(&(l)->word))

static struct hd_loop loop;
static _Atomic uint32_t wake;

static int begin(void **state) {
    (void)state;
    hd_os_clock_init();
    atomic_store(&wake, 0);
    hd_loop_init(&loop, &wake, hd_thread_id_of(1), false, 1ULL << 32, hd_os_now_ns(), true);
    return 0;
}

static void nap_ms(long ms) {
    struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

/* With the one that ended last, which is summed when the next one ends. */
static uint64_t turns(void) {
    uint64_t n = 1;
    for (unsigned i = 0; i < HD_TURN_HISTOGRAM; i++) {
        n += atomic_load(&loop.histogram[i]);
    }
    return n;
}

static uint64_t busy(void) {
    return atomic_load(&loop.busy_ticks) + atomic_load(&loop.pending_ticks);
}

static struct hd_loop_view view(void) {
    struct hd_loop_view v;
    hd_loop_view(&loop, &v);
    return v;
}

/* ---- turns ---------------------------------------------------------------------------------------- */

static void it_runs_from_the_start(void **state) {
    (void)state;
    assert_true(view().running);
    assert_int_equal(view().turn_ticks, atomic_load(&loop.word) >> HD_ACTIVITY_BITS);
    hd_loop_init(&loop, &wake, hd_thread_id_of(1), false, 1ULL << 32, hd_os_now_ns(), false);
    assert_false(view().running);
}

static void waiting_ends_a_turn_and_its_end_begins_one(void **state) {
    (void)state;
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    assert_false(view().running);
    assert_int_equal(turns(), 1);
    nap_ms(2);
    uint64_t from = hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    assert_true(view().running);
    assert_int_equal(view().turn_ticks, from);
    assert_int_equal(turns(), 1);
    uint64_t before = busy();
    nap_ms(2);
    uint64_t to = hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    assert_int_equal(turns(), 2);
    assert_int_equal(busy() - before, to - from);
    hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    assert_int_equal(busy() - before, to - from);
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING); /* which sums it */
    assert_int_equal(atomic_load(&loop.busy_ticks) - before, to - from);
    assert_int_equal(turns(), 3);
}

static void after_waiting_while_it_runs_ends_one_turn_and_begins_the_next(void **state) {
    (void)state;
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    for (unsigned i = 0; i < 5; i++) {
        uint64_t at = hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
        assert_true(view().running);
        assert_int_equal(view().turn_ticks, at);
    }
    assert_int_equal(turns(), 6);
}

static void points_within_a_turn_keep_its_start(void **state) {
    (void)state;
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    uint64_t from = hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    hd_loop_mark(&loop, HANGDOG_BEFORE_TIMERS);
    assert_int_equal(view().turn_ticks, from);
    hd_loop_mark(&loop, HANGDOG_BEFORE_SOURCES);
    assert_int_equal(view().turn_ticks, from);
    assert_int_equal(view().activity, HANGDOG_BEFORE_SOURCES);
    assert_int_equal(turns(), 1);
}

static void timers_again_without_a_wait_are_a_new_turn(void **state) {
    (void)state;
    hd_loop_mark(&loop, HANGDOG_BEFORE_TIMERS);
    hd_loop_mark(&loop, HANGDOG_BEFORE_SOURCES);
    assert_int_equal(turns(), 0);
    uint64_t at = hd_loop_mark(&loop, HANGDOG_BEFORE_TIMERS);
    assert_int_equal(turns(), 1);
    assert_int_equal(view().turn_ticks, at);
}

/* A loop that tells its points and not the end of its wait. */
static void whichever_point_comes_after_a_wait_begins_a_turn(void **state) {
    static const unsigned points[] = {HANGDOG_BEFORE_TIMERS, HANGDOG_BEFORE_SOURCES};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        hd_loop_mark(&loop, i == 0 ? HANGDOG_BEFORE_WAITING : HANGDOG_EXIT);
        nap_ms(2);
        uint64_t at = hd_loop_mark(&loop, points[i]);
        assert_true(view().running);
        assert_int_equal(view().turn_ticks, at);
        assert_int_equal(turns(), i + 1);
        assert_int_equal(hd_loop_mark(&loop, HANGDOG_BEFORE_SOURCES) >= at, 1);
        assert_int_equal(view().turn_ticks, at);
    }
}

static void waiting_twice_is_one_wait(void **state) {
    (void)state;
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    assert_int_equal(turns(), 1);
    assert_false(view().running);
}

static void leaving_an_inner_loop_starts_the_outer_turn_anew(void **state) {
    (void)state;
    hd_loop_enter(&loop);
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    hd_loop_enter(&loop);
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    assert_false(view().running); /* a nested loop that waits is idle */
    hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    uint64_t before = hd_os_now_ns();
    hd_loop_exit(&loop);
    assert_true(view().running);
    assert_true(view().turn_ticks >= before);
    hd_loop_exit(&loop);
    assert_false(view().running);
    assert_int_equal(ACTIVITY(&loop), HANGDOG_EXIT);
    hd_loop_exit(&loop); /* once too often */
    assert_int_equal(loop.depth, 0);
}

static void the_histogram_counts_by_powers_of_two(void **state) {
    (void)state;
    static const struct {
        uint64_t ticks;
        unsigned bucket;
    } cases[] = {{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 2}, {1000, 9}, {1024, 10}, {UINT64_MAX / 2, 62}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset((void *)loop.histogram, 0, sizeof loop.histogram);
        atomic_store(&loop.pending_ticks, cases[i].ticks);
        hd_loop_turn_account(&loop);
        assert_int_equal(atomic_load(&loop.histogram[cases[i].bucket]), 1);
    }
}

static void converts_ticks_to_nanoseconds(void **state) {
    (void)state;
    assert_int_equal(hd_ticks_to_ns(3, 1ULL << 32), 3);
    assert_int_equal(hd_ticks_to_ns(3000, 1ULL << 31), 1500);
    assert_int_equal(hd_ticks_to_ns(1ULL << 62, 1ULL << 31), 1ULL << 61); /* no overflow in between */
    assert_int_equal(hd_ticks_ratio_32(3, 1), 3ULL << 32);
    assert_int_equal(hd_ticks_ratio_32(1000000000, 2995200000),
                     1433950085); /* rounded down, as a division is */
    assert_int_equal(hd_ticks_ratio_32(1ULL << 62, 3ULL << 61), (2ULL << 32) / 3);
}

/* ---- the monitor's flags -------------------------------------------------------------------------- */

static void wakes_no_thread_without_a_flag(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
        hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    }
    assert_int_equal(atomic_load(&wake), 0);
}

static void a_parked_monitor_is_woken_once_when_it_runs(void **state) {
    (void)state;
    atomic_store(&loop.flags, HD_FLAG_PARKED);
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    assert_int_equal(atomic_load(&wake), 0); /* idle is no news */
    hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    assert_int_equal(atomic_load(&wake), 1);
    assert_int_equal(atomic_load(&loop.flags), 0);
    hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    assert_int_equal(atomic_load(&wake), 1);
}

static void stores_the_end_of_a_tracked_turn_with_its_time(void **state) {
    (void)state;
    hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    atomic_store(&loop.flags, HD_FLAG_TRACKED);
    hd_loop_mark(&loop, HANGDOG_BEFORE_TIMERS); /* the same turn */
    hd_loop_mark(&loop, HANGDOG_BEFORE_SOURCES);
    assert_int_equal(atomic_load(&loop.flags), HD_FLAG_TRACKED);
    assert_int_equal(atomic_load(&wake), 0);
    uint64_t at = hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    assert_int_equal(atomic_load(&loop.flags), 0);
    assert_int_equal(atomic_load(&loop.tracked_end), at);
    assert_int_equal(atomic_load(&wake), 1);
}

static void a_turn_that_follows_ends_a_tracked_one_too(void **state) {
    (void)state;
    atomic_store(&loop.flags, HD_FLAG_TRACKED | HD_FLAG_PARKED);
    uint64_t at = hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    assert_int_equal(atomic_load(&loop.tracked_end), at);
    assert_int_equal(atomic_load(&loop.flags), 0);
    assert_int_equal(atomic_load(&wake), 1);
}

static void wiped_as_in_a_forked_child_it_does_no_harm(void **state) {
    (void)state;
    memset((void *)&loop, 0, sizeof loop);
    atomic_store(&loop.flags, HD_FLAG_PARKED | HD_FLAG_TRACKED);
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    hd_loop_enter(&loop);
    hd_loop_exit(&loop);
    assert_int_equal(atomic_load(&wake), 0);
}

/* ---- a block that is meant ------------------------------------------------------------------------ */

static struct hd_watch watch;
static int (*true_futex_wake)(uint32_t *, int, bool);
static unsigned wakes;

/* The monitor finds the block not over yet, and is about to sleep again. */
static int park_again(uint32_t *word, int count, bool shared) {
    if (wakes++ == 0) {
        atomic_fetch_or(&watch.loop.flags, HD_FLAG_PARKED);
    }
    return true_futex_wake(word, count, shared);
}

static void the_end_of_a_block_that_is_meant_wakes_who_parked_just_before(void **state) {
    (void)state;
    hangdog_loop *handle = (hangdog_loop *)(void *)&watch;
    true_futex_wake = hd_os.futex_wake;
    wakes = 0;
    hd_loop_init(&watch.loop, &wake, hd_thread_id_of(1), false, 1ULL << 32, hd_os_now_ns(), true);
    hangdog_expect_block(handle);
    atomic_store(&watch.loop.flags, HD_FLAG_PARKED);
    hd_os.futex_wake = park_again;
    hangdog_expect_block_end(handle);
    hd_os.futex_wake = true_futex_wake;
    assert_int_equal(atomic_load(&watch.loop.expected), 0);
    assert_int_equal(atomic_load(&watch.loop.flags), 0);
    assert_int_equal(atomic_load(&wake), 2);
}

/* ---- two threads ---------------------------------------------------------------------------------- */

static _Atomic bool enough;
static _Atomic uint64_t marks;

static void *mark_on_and_on(void *unused) {
    (void)unused;
    for (uint64_t n = 0; !atomic_load(&enough); n++) {
        hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
        hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
        atomic_store_explicit(&marks, n, memory_order_relaxed);
        if (n % 64 == 0) { /* idle for a while: the monitor may park */
            hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
            nap_ms(0);
        }
    }
    hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    return NULL;
}

static _Atomic uint64_t acknowledged;
static unsigned lost, rounds;

/* Each turn lasts until the monitor has seen it: one that it sleeps through is a wake-up that was lost. */
static void *run_until_seen(void *unused) {
    (void)unused;
    for (uint32_t seed = 1; !atomic_load(&enough) && lost == 0; rounds++) {
        hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
        seed = seed * 1664525 + 1013904223;
        for (volatile uint32_t spin = (seed >> 16) % 512; spin > 0; spin = spin - 1) {
        }
        hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
        uint64_t word = atomic_load(&loop.word), until = hd_os_now_ns() + 10 * HD_NS_PER_S;
        while (atomic_load(&acknowledged) != word && !atomic_load(&enough) && lost == 0) {
            lost += hd_os_now_ns() > until;
        }
    }
    atomic_store(&enough, true);
    return NULL;
}

/* Parks as the monitor does, but for a hundredth of the time between asking and believing. */
static void no_wake_up_is_lost(void **state) {
    (void)state;
    pthread_t thread;
    lost = rounds = 0;
    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&thread, NULL, run_until_seen, NULL), 0);
    uint64_t until = hd_os_now_ns() + 2 * HD_NS_PER_S;
    while (!atomic_load(&enough)) {
        uint32_t seen = atomic_load(&wake);
        atomic_fetch_or(&loop.flags, HD_FLAG_PARKED);
        /* without this pause a wake-up is lost within the first second */
        hd_os.futex_wait((uint32_t *)&wake, seen, hd_os_now_ns() + HD_SETTLE_NS / 100, false);
        struct hd_loop_view v = view();
        if (!v.running) {
            hd_os.futex_wait((uint32_t *)&wake, seen, hd_os_now_ns() + 15 * HD_NS_PER_S, false);
        }
        atomic_fetch_and(&loop.flags, ~HD_FLAG_PARKED);
        v = view();
        if (v.running) {
            atomic_store(&acknowledged, v.word);
        }
        if (hd_os_now_ns() > until) {
            atomic_store(&enough, true);
        }
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(lost, 0);
    assert_true(rounds > 100);
}

/* A view that is read beside the marks has one turn's start, never before the last nor after the word. */
static void a_view_during_marks_is_of_one_moment(void **state) {
    (void)state;
    pthread_t thread;
    uint64_t last = 0;
    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&thread, NULL, mark_on_and_on, NULL), 0);
    uint64_t until = hd_os_now_ns() + HD_NS_PER_S / 2;
    while (hd_os_now_ns() < until) {
        struct hd_loop_view v = view();
        assert_true(v.turn_ticks >= last);
        assert_true(v.turn_ticks <= v.word >> HD_ACTIVITY_BITS);
        if (v.running) {
            last = v.turn_ticks;
        }
    }
    atomic_store(&enough, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void a_turn_lasts_until_its_loop_waits(void **state) {
    (void)state;
    uint64_t start = view().turn_ticks;
    assert_true(hd_loop_is_in_turn(&loop, start));
    hd_loop_mark(&loop, HANGDOG_BEFORE_WAITING);
    assert_false(hd_loop_is_in_turn(&loop, start));
    hd_loop_mark(&loop, HANGDOG_AFTER_WAITING);
    assert_false(hd_loop_is_in_turn(&loop, start)); /* the next one */
    assert_true(hd_loop_is_in_turn(&loop, view().turn_ticks));
    hd_loop_init(&loop, &wake, hd_thread_id_of(1), false, 1ULL << 32, 0, true);
    assert_true(hd_loop_is_in_turn(&loop, start)); /* it has no marks */
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        CASE(it_runs_from_the_start),
        CASE(a_turn_lasts_until_its_loop_waits),
        CASE(waiting_ends_a_turn_and_its_end_begins_one),
        CASE(after_waiting_while_it_runs_ends_one_turn_and_begins_the_next),
        CASE(points_within_a_turn_keep_its_start),
        CASE(timers_again_without_a_wait_are_a_new_turn),
        CASE(whichever_point_comes_after_a_wait_begins_a_turn),
        CASE(waiting_twice_is_one_wait),
        CASE(leaving_an_inner_loop_starts_the_outer_turn_anew),
        CASE(the_histogram_counts_by_powers_of_two),
        CASE(converts_ticks_to_nanoseconds),
        CASE(wakes_no_thread_without_a_flag),
        CASE(a_parked_monitor_is_woken_once_when_it_runs),
        CASE(stores_the_end_of_a_tracked_turn_with_its_time),
        CASE(a_turn_that_follows_ends_a_tracked_one_too),
        CASE(wiped_as_in_a_forked_child_it_does_no_harm),
        CASE(the_end_of_a_block_that_is_meant_wakes_who_parked_just_before),
        CASE(no_wake_up_is_lost),
        CASE(a_view_during_marks_is_of_one_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
