/* SPDX-License-Identifier: MIT
 *
 * When CPU use is a report, driven with fake clocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/cpu_use.h"

#define MS HD_NS_PER_MS
#define PERIOD (3 * HD_NS_PER_S)
#define START (1000 * HD_NS_PER_S)

struct run {
    struct hd_cpu_use use;
    uint64_t now_ns, cpu_ns;
    unsigned words[HD_CPU_DROP + 1], steps;
};

/* Steps when they are due, for so long, with this much of a CPU in use. */
static void run_for(struct run *r, uint64_t ns, unsigned percent) {
    for (uint64_t end = r->now_ns + ns; r->now_ns < end;) {
        uint64_t next = r->use.next_ns > r->now_ns ? r->use.next_ns : r->now_ns;
        next = next < end ? next : end;
        r->cpu_ns += (next - r->now_ns) / 100 * percent;
        r->now_ns = next;
        r->words[hd_cpu_use_step(&r->use, r->now_ns, r->cpu_ns, PERIOD, 50 * MS)]++;
        r->steps++;
    }
}

static void test_an_idle_process_is_read_once_a_period(void **state) {
    struct run r = {.now_ns = START};
    (void)state;
    run_for(&r, 20 * PERIOD, 0);
    assert_in_range(r.steps, 20, 21);
    assert_int_equal(r.steps, r.words[HD_CPU_NOTHING]);
}

static void test_use_that_lasts_is_sampled_and_reported_once_in_a_rest(void **state) {
    struct run r = {.now_ns = START};
    (void)state;
    run_for(&r, 22 * PERIOD, 95);
    assert_int_equal(1, r.words[HD_CPU_START]);
    assert_int_equal(1, r.words[HD_CPU_REPORT]);
    assert_int_equal(0, r.words[HD_CPU_DROP]);
    assert_in_range(r.words[HD_CPU_SAMPLE], 50, 70);
    run_for(&r, 22 * PERIOD, 95);
    assert_int_equal(2, r.words[HD_CPU_REPORT]);
}

static void test_a_burst_below_a_period_has_no_report(void **state) {
    (void)state;
    for (uint64_t before = 0; before <= PERIOD; before += 100 * MS) {
        struct run r = {.now_ns = START};
        run_for(&r, PERIOD + before, 0);
        run_for(&r, PERIOD - 100 * MS, 100);
        run_for(&r, 3 * PERIOD, 0);
        assert_int_equal(0, r.words[HD_CPU_REPORT]);
        assert_int_equal(r.words[HD_CPU_START], r.words[HD_CPU_DROP]);
    }
}

static void test_the_limit(void **state) {
    (void)state;
    for (unsigned percent = 76; percent <= 84; percent += 8) {
        struct run r = {.now_ns = START};
        run_for(&r, 4 * PERIOD, percent);
        assert_int_equal(percent > HD_CPU_LIMIT, r.words[HD_CPU_REPORT]);
    }
}

static void test_a_stopped_process_used_nothing(void **state) {
    struct run r = {.now_ns = START};
    (void)state;
    run_for(&r, PERIOD + 10 * MS, 100);
    assert_int_equal(1, r.words[HD_CPU_START]);
    r.now_ns += 10 * PERIOD; /* no step was taken meanwhile */
    run_for(&r, PERIOD, 50);
    assert_int_equal(0, r.words[HD_CPU_REPORT]);
    assert_int_equal(1, r.words[HD_CPU_DROP]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_idle_process_is_read_once_a_period),
        cmocka_unit_test(test_use_that_lasts_is_sampled_and_reported_once_in_a_rest),
        cmocka_unit_test(test_a_burst_below_a_period_has_no_report),
        cmocka_unit_test(test_the_limit),
        cmocka_unit_test(test_a_stopped_process_used_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
