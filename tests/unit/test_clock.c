/* SPDX-License-Identifier: MIT
 *
 * Counter and clock: the rate between them, and what the clock said at a stamp, also after the machine was
 * suspended. Driven with counters that are made here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "watch/clock.h"

#define MS HD_NS_PER_MS
#define SECOND HD_NS_PER_S
#define TICKS_PER_S 2995200000ULL

/* A machine: its clock, and a counter that may run on or begin anew while the clock stands still. */
struct machine {
    uint64_t ns, counter_ns; /* the counter's own time */
    uint64_t seed;
};

static uint64_t ticks(const struct machine *m) {
    return (uint64_t)((unsigned __int128)m->counter_ns * TICKS_PER_S / SECOND);
}

static void run(struct machine *m, uint64_t ns) {
    m->ns += ns;
    m->counter_ns += ns;
}

/* A pair is read; `noise_ns` at most between its two readings. */
static void pair(struct machine *m, struct hd_clock *c, uint64_t noise_ns) {
    uint64_t stamp = ticks(m);
    m->seed = m->seed * 6364136223846793005ULL + 1442695040888963407ULL;
    run(m, noise_ns != 0 ? (m->seed >> 33) % noise_ns : 0);
    hd_clock_pair(c, stamp, m->ns);
}

static struct machine start(struct hd_clock *c) {
    struct machine m = {.ns = 100000 * SECOND, .counter_ns = 50000 * SECOND};
    hd_clock_start(c, ticks(&m), m.ns);
    run(&m, MS / 5);
    pair(&m, c, 0);
    return m;
}

static void look_for(struct machine *m, struct hd_clock *c, uint64_t ns, uint64_t noise_ns) {
    for (uint64_t end = m->ns + ns; m->ns < end;) {
        run(m, 50 * MS);
        pair(m, c, noise_ns);
    }
}

static void assert_at(const struct hd_clock *c, uint64_t stamp, uint64_t ns, uint64_t within_ns) {
    uint64_t converted = hd_clock_at(c, stamp);
    uint64_t off = converted > ns ? converted - ns : ns - converted;
    if (off > within_ns) {
        fail_msg("off by %.6f ms", (converted > ns ? 1 : -1) * (double)off / MS);
    }
}

static double wrong_by_ppm(const struct hd_clock *c) {
    double rate = (double)c->ns_per_tick_32 / (double)(1ULL << 32) * TICKS_PER_S / SECOND;
    return rate > 1 ? (rate - 1) * 1e6 : (1 - rate) * 1e6;
}

static void the_rate_gets_better_the_longer_it_is_measured(void **state) {
    (void)state;
    struct hd_clock c;
    struct machine m = start(&c);
    look_for(&m, &c, SECOND, MS / 33);
    assert_true(wrong_by_ppm(&c) < 100);
    look_for(&m, &c, 59 * SECOND, MS / 33);
    for (unsigned i = 0; i < 1000; i++) { /* and does not get worse again */
        look_for(&m, &c, 50 * MS, MS / 33);
        assert_true(wrong_by_ppm(&c) < 3);
    }
}

static void converts_an_old_stamp_within_a_millisecond(void **state) {
    (void)state;
    struct hd_clock c;
    struct machine m = start(&c);
    look_for(&m, &c, 10 * SECOND, MS / 33);
    uint64_t stamp = ticks(&m), ns = m.ns;
    for (unsigned i = 0; i < 300; i++) {
        look_for(&m, &c, SECOND, MS / 33);
        assert_at(&c, stamp, ns, MS);
    }
}

static void a_long_sleep_is_not_taken_for_a_suspended_machine(void **state) {
    (void)state;
    struct hd_clock c;
    struct machine m = start(&c);
    look_for(&m, &c, SECOND, MS / 33);
    uint64_t stamp = ticks(&m), ns = m.ns;
    run(&m, 8 * 3600 * SECOND);
    pair(&m, &c, MS / 33);
    assert_at(&c, stamp, ns, 2 * MS);
    assert_true(wrong_by_ppm(&c) < 0.1);
}

/* The machine is suspended between two looks; before and after it, loops mark. */
static void suspend(uint64_t counter_gains_ns, bool anew) {
    struct hd_clock c;
    struct machine m = start(&c);
    look_for(&m, &c, 60 * SECOND, MS / 33);
    uint64_t old = ticks(&m), old_ns = m.ns;
    run(&m, 30 * MS);
    uint64_t before = ticks(&m), before_ns = m.ns;
    run(&m, 10 * MS);
    m.counter_ns = anew ? SECOND : m.counter_ns + counter_gains_ns; /* the clock stands still */
    run(&m, 5 * MS);
    uint64_t after = ticks(&m), after_ns = m.ns;
    run(&m, 2 * MS);
    pair(&m, &c, 0);
    for (unsigned looks = 0; looks < 100; looks++) {
        assert_at(&c, old, old_ns, MS / 10);
        assert_at(&c, before, before_ns, MS / 10);
        assert_at(&c, after, after_ns, MS / 10);
        uint64_t stamp = ticks(&m), ns = m.ns;
        assert_at(&c, stamp, ns, MS / 10);
        look_for(&m, &c, 50 * MS, MS / 33);
        assert_at(&c, stamp, ns, MS / 10);
        assert_true(wrong_by_ppm(&c) < 3);
    }
}

static void after_a_suspend_stamps_of_before_are_as_old_as_the_clock_says(void **state) {
    (void)state;
    suspend(8 * 3600 * SECOND, false);
    suspend(SECOND, false);
    suspend(60 * MS, false);
}

static void the_counter_may_begin_anew(void **state) {
    (void)state;
    suspend(0, true);
}

static void without_a_counter_stamps_are_the_clock(void **state) {
    (void)state;
    struct hd_clock c;
    hd_clock_start(&c, SECOND, SECOND);
    for (uint64_t ns = 2 * SECOND; ns < 100 * SECOND; ns += SECOND) {
        hd_clock_pair(&c, ns, ns);
        assert_int_equal(hd_clock_at(&c, ns - MS), ns - MS);
        assert_int_equal(hd_clock_at(&c, ns + MS), ns + MS);
    }
}

static void both_are_read_at_one_time(void **state) {
    (void)state;
    uint64_t counter, ns;
    hd_os_clock_init();
    uint64_t before = hd_os_now_ns(), before_ticks = hd_ticks_read();
    hd_clock_read(true, &counter, &ns);
    assert_in_range(ns, before, hd_os_now_ns());
    assert_in_range(counter, before_ticks, hd_ticks_read());
    hd_clock_read(false, &counter, &ns);
    assert_int_equal(counter, ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_gets_better_the_longer_it_is_measured),
        cmocka_unit_test(converts_an_old_stamp_within_a_millisecond),
        cmocka_unit_test(a_long_sleep_is_not_taken_for_a_suspended_machine),
        cmocka_unit_test(after_a_suspend_stamps_of_before_are_as_old_as_the_clock_says),
        cmocka_unit_test(the_counter_may_begin_anew),
        cmocka_unit_test(without_a_counter_stamps_are_the_clock),
        cmocka_unit_test(both_are_read_at_one_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
