/* SPDX-License-Identifier: MIT
 *
 * Turns as looks show them: what two looks prove, and what they do not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "outside/linux/poll_turn.h"

#define MS HD_NS_PER_MS

static struct hd_poll_turn turn;
static struct hd_hook_turn ended;

enum where {
    RUNS,
    WAITS,
    BLOCKED
};

/* A look at `ms`; the thread has got a CPU `slices` times. */
static bool look(uint64_t ms, enum where where, uint64_t slices) {
    struct hd_poll_look l = {.at_ns = ms * MS,
                             .waits = where == WAITS,
                             .blocked = where != RUNS,
                             .sched = {.cpu_ns = slices * MS, .slices = slices}};
    return hd_poll_turn_look(&turn, &l, &ended);
}

static int begin(void **state) {
    (void)state;
    hd_poll_turn_init(&turn, 0, 50 * MS);
    assert_false(look(50, WAITS, 1));
    assert_true(turn.shown.known && turn.shown.waits);
    return 0;
}

static void a_block_without_a_switch_is_one_turn(void **state) {
    (void)state;
    assert_false(look(100, BLOCKED, 2));
    assert_int_equal(turn.shown.since_ns, 100 * MS);
    assert_int_equal(turn.shown.earlier_ns, 50 * MS); /* the look before saw it wait */
    for (uint64_t ms = 150; ms <= 1000; ms += 50) {
        assert_false(look(ms, BLOCKED, 2));
    }
    assert_false(turn.shown.waits);
    assert_int_equal(turn.shown.since_ns, 100 * MS);
    assert_int_equal(turn.shown.longest_ns, 900 * MS);
    assert_true(look(1050, WAITS, 3));
    assert_int_equal(ended.start_ns, 100 * MS);
    assert_int_equal(ended.end_ns, 1050 * MS);
    assert_true(turn.shown.waits);
}

static void a_thread_that_runs_is_only_busy(void **state) {
    (void)state;
    for (uint64_t ms = 100; ms <= 3000; ms += 50) {
        assert_false(look(ms, RUNS, 2));
        assert_int_equal(turn.shown.since_ns, ms * MS);
    }
    assert_false(look(3050, WAITS, 3));
    assert_int_equal(turn.shown.longest_ns, 0);
}

static void another_block_is_another_turn(void **state) {
    (void)state;
    for (uint64_t ms = 100; ms <= 1000; ms += 50) {
        assert_false(look(ms, BLOCKED, ms)); /* it has run since the look before, maybe through its wait */
        assert_int_equal(turn.shown.since_ns, ms * MS);
    }
    assert_int_equal(turn.shown.earlier_ns, 950 * MS);
}

static void what_a_thread_does_before_its_first_wait_is_not_known(void **state) {
    (void)state;
    hd_poll_turn_init(&turn, 7, 50 * MS);
    assert_false(look(50, BLOCKED, 1));
    assert_false(look(500, BLOCKED, 1));
    assert_false(turn.shown.known);
    assert_false(turn.shown.waits);
    assert_int_equal(turn.shown.longest_ns, 0);
    assert_false(look(550, WAITS, 2));
    assert_true(turn.shown.known);
}

static void a_proof_makes_a_running_turn_long(void **state) {
    (void)state;
    struct hd_poll_look l = {.at_ns = 300 * MS, .sched = {.slices = 2}, .proven_ns = 150 * MS};
    assert_false(hd_poll_turn_look(&turn, &l, &ended));
    l.at_ns = 400 * MS;
    assert_false(hd_poll_turn_look(&turn, &l, &ended));
    assert_int_equal(turn.shown.since_ns, 150 * MS);
    assert_int_equal(turn.shown.earlier_ns, 100 * MS);
    assert_true(look(450, WAITS, 3));
    assert_int_equal(ended.start_ns, 150 * MS);
}

/* A hang that sleeps, and then waits for a CPU: one turn. */
static void a_proof_joins_a_block_and_what_runs_after_it(void **state) {
    (void)state;
    assert_false(look(100, BLOCKED, 2));
    for (uint64_t ms = 150; ms <= 1500; ms += 50) {
        struct hd_poll_look l = {.at_ns = ms * MS,
                                 .blocked = ms <= 800,
                                 .sched = {.cpu_ns = 2 * MS, .slices = ms <= 800 ? 2 : 3},
                                 .proven_ns = ms > 150 ? 150 * MS : 0};
        assert_false(hd_poll_turn_look(&turn, &l, &ended));
        assert_int_equal(turn.shown.since_ns, 100 * MS);
        assert_int_equal(turn.shown.earlier_ns, 50 * MS);
    }
    assert_true(look(1550, WAITS, 3));
    assert_int_equal(ended.start_ns, 100 * MS);
    assert_int_equal(ended.end_ns, 1550 * MS);
}

/* The look before may have been in another turn. */
static void a_proof_that_begins_after_a_look_does_not_join_it(void **state) {
    (void)state;
    assert_false(look(100, BLOCKED, 2));
    assert_false(look(150, BLOCKED, 2));
    struct hd_poll_look l = {.at_ns = 250 * MS, .sched = {.slices = 3}, .proven_ns = 200 * MS};
    assert_true(hd_poll_turn_look(&turn, &l, &ended));
    assert_int_equal(turn.shown.since_ns, 200 * MS);
}

/* For a second the watcher had no CPU. */
static void a_late_look_does_not_lengthen_a_turn(void **state) {
    (void)state;
    static const enum where after[] = {WAITS, RUNS, BLOCKED};
    for (unsigned i = 0; i < sizeof after / sizeof after[0]; i++) {
        begin(NULL);
        assert_false(look(100, BLOCKED, 2));
        assert_false(look(150, BLOCKED, 2));
        assert_true(look(1150, after[i], 3));
        assert_int_equal(ended.start_ns, 100 * MS);
        assert_int_equal(ended.end_ns, 250 * MS);
    }
}

static void looks_as_rare_as_the_interval_are_not_late(void **state) {
    (void)state;
    hd_poll_turn_init(&turn, 0, 1000 * MS);
    assert_false(look(1000, WAITS, 1));
    assert_false(look(2000, BLOCKED, 2));
    assert_false(look(3000, BLOCKED, 2));
    assert_true(look(4000, WAITS, 3));
    assert_int_equal(ended.end_ns, 4000 * MS);
}

static void a_thread_without_a_cpu_is_where_it_was(void **state) {
    (void)state;
    const struct hd_poll_look blocked = {.blocked = true, .sched = {.cpu_ns = 9, .slices = 2}};
    struct hd_poll_look woken = {.sched = {.cpu_ns = 9, .delay_ns = 7, .slices = 2}}, runs = woken;
    assert_true(hd_poll_turn_rests(&blocked, &woken));
    assert_false(hd_poll_turn_rests(&runs, &woken));
    woken.sched.slices = 3;
    assert_false(hd_poll_turn_rests(&blocked, &woken));
    assert_false(hd_poll_turn_rests(&(struct hd_poll_look){.blocked = true}, &(struct hd_poll_look){0}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_block_without_a_switch_is_one_turn, begin),
        cmocka_unit_test_setup(a_thread_that_runs_is_only_busy, begin),
        cmocka_unit_test_setup(another_block_is_another_turn, begin),
        cmocka_unit_test_setup(what_a_thread_does_before_its_first_wait_is_not_known, begin),
        cmocka_unit_test_setup(a_proof_makes_a_running_turn_long, begin),
        cmocka_unit_test_setup(a_proof_joins_a_block_and_what_runs_after_it, begin),
        cmocka_unit_test_setup(a_proof_that_begins_after_a_look_does_not_join_it, begin),
        cmocka_unit_test(a_thread_without_a_cpu_is_where_it_was),
        cmocka_unit_test(looks_as_rare_as_the_interval_are_not_late),
        cmocka_unit_test_setup(a_late_look_does_not_lengthen_a_turn, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
