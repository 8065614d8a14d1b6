/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cli/live/loop_figures.h"

#define S HD_NS_PER_S
#define MS HD_NS_PER_MS

static void quantiles_lie_in_the_right_bucket(void **state) {
    uint64_t turns[HD_TURN_HISTOGRAM] = {0};
    (void)state;
    assert_int_equal(loop_quantile(turns, 0.5), 0);
    turns[10] = 98; /* 1,024 to 2,047 ns */
    turns[20] = 1;  /* 1 to 2 ms */
    turns[30] = 1;  /* 1 to 2 s */
    assert_in_range(loop_quantile(turns, 0.5), 1024, 2047);
    assert_in_range(loop_quantile(turns, 0.985), 1 << 20, 2 << 20);
    assert_int_equal(loop_quantile(turns, 1), 2ULL << 30);
}

static void garbage_gives_a_number(void **state) {
    uint64_t turns[HD_TURN_HISTOGRAM];
    (void)state;
    memset(turns, 0xff, sizeof turns);
    assert_int_equal(loop_quantile(turns, 1), INT64_MAX);
    struct run_loop l = {.busy_ns = UINT64_MAX};
    struct loop_history history = {0};
    struct loop_figures f;
    memset(l.turns, 0xff, sizeof l.turns);
    loop_history_add(&history, &l, 1);
    loop_history_add(&history, &(struct run_loop){0}, 2 * S); /* all counters went back */
    loop_figures(&history, &f);
    assert_true(f.busy_percent == 0 && f.turns_per_s == 0);
    assert_int_equal(f.worst_ns, 0);
}

static void shares_and_rates_are_those_since_the_look_before(void **state) {
    struct run_loop l = {.busy_ns = 7 * S, .turns = {[12] = 1000}, .frames = 5};
    struct loop_history history = {0};
    struct loop_figures f;
    (void)state;
    loop_history_add(&history, &l, 10 * S);
    loop_figures(&history, &f);
    assert_true(f.busy_percent < 0 && f.turns_per_s < 0 && f.frames_per_s < 0);
    assert_in_range(f.median_ns, 4096, 8191); /* all turns, while there is one look */
    l.busy_ns += S / 2;
    l.turns[24] += 40;
    l.frames += 120;
    loop_history_add(&history, &l, 12 * S);
    loop_figures(&history, &f);
    assert_true(f.busy_percent > 24.9 && f.busy_percent < 25.1);
    assert_true(f.turns_per_s == 20 && f.frames_per_s == 60);
    assert_in_range(f.median_ns, 1 << 24, 2 << 24); /* of the turns that ended meanwhile */
    l.running_ns = 50 * MS;                         /* the longest of all, and it has not ended */
    loop_history_add(&history, &l, 12 * S + 1);
    loop_figures(&history, &f);
    assert_int_equal(f.worst_ns, 50 * MS);
}

static void no_turn_was_longer_than_the_longest_hang(void **state) {
    struct run_loop l = {.turns = {[20] = 1, [30] = 1}}; /* 1.07 to 2.1 s */
    struct loop_history history = {0};
    struct loop_figures f;
    (void)state;
    loop_history_add(&history, &l, S);
    loop_figures(&history, &f);
    assert_false(loop_figures_limit(&f, 900 * MS)); /* another loop's, or one before the watch */
    assert_int_equal(f.worst_ns, 2ULL << 30);
    assert_true(loop_figures_limit(&f, 1200 * MS));
    assert_int_equal(f.worst_ns, 1200 * MS);
    assert_int_equal(f.p99_ns, 1200 * MS);
    assert_true(f.median_ns < 3 * MS);
}

static void after_a_minute_old_turns_are_forgotten(void **state) {
    struct run_loop l = {.turns = {[30] = 10}};
    struct loop_history history = {0};
    struct loop_figures f;
    (void)state;
    for (uint64_t second = 0; second < 200; second++) {
        l.turns[second < 100 ? 20 : 10] += 10;
        loop_history_add(&history, &l, second * S);
    }
    loop_figures(&history, &f);
    assert_in_range(f.p99_ns, 1024, 2047);
    assert_int_equal(f.worst_ns, 2ULL << 30);
}

static void another_loop_in_the_slot_has_no_history(void **state) {
    struct run_loop l = {.busy_ns = S, .generation = 1};
    struct loop_history history = {0};
    struct loop_figures f;
    (void)state;
    loop_history_add(&history, &l, S);
    l.generation = 2;
    loop_history_add(&history, &l, 2 * S);
    loop_figures(&history, &f);
    assert_true(f.busy_percent < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_lie_in_the_right_bucket),
        cmocka_unit_test(garbage_gives_a_number),
        cmocka_unit_test(shares_and_rates_are_those_since_the_look_before),
        cmocka_unit_test(no_turn_was_longer_than_the_longest_hang),
        cmocka_unit_test(after_a_minute_old_turns_are_forgotten),
        cmocka_unit_test(another_loop_in_the_slot_has_no_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
