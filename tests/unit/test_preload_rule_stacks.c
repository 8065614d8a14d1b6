/* SPDX-License-Identifier: MIT
 *
 * The rule, on waits made by hand: where on its stacks the thread stands. A loop on a stack of its own, and
 * what blocks outside of the loop's turns.
 */
#include "rule_by_hand.h"

/* ---- a stack of its own --------------------------------------------------------------------------- */

/* The loop runs on a stack of its own, nearer to some callbacks' than to the thread's. */
#define LOOPS_BASE 0x5000ffffu
#define CALLS_BASE 0x5100ffffu

static struct hd_wait_seen on_a_coroutine(struct hd_set set, uint64_t place, uint64_t below, uint64_t base) {
    return (struct hd_wait_seen){
        .set = set,
        .at = {
            .stack_hash = place, .sp = (base & ~0xffffu) + 0xf000u - below, .stack_base = base, .depth = 4}};
}

static void a_loop_on_a_stack_of_its_own_returns_there(void **state) {
    (void)state;
    struct hd_wait_seen own = on_a_coroutine(LOOP_SET, 1, 0, LOOPS_BASE);
    struct hd_wait_seen call = on_a_coroutine(set_of(900, 0, 0, 0), 2, 200, LOOPS_BASE);
    for (int i = 0; i < 8; i++) {
        wait_seen(&own, 100);
        wait_seen(&own, 100);
        wait_seen(&call, 300); /* longer than the loop: only its return tells */
    }
    assert_int_equal(wait_seen(&call, 300), HD_WAIT_BUSY);
    assert_int_equal(wait_seen(&own, 100), HD_WAIT_IDLE);
    assert_true(rule.group[rule.loop].returns.returned);
}

/* Which of two such stacks lies above the other is chance. Nor does it help that of both nobody knows where
 * they begin. */
static void what_waits_on_other_stacks_proves_nothing(void **state) {
    for (int turn = 0; turn < 4; turn++) {
        bool above = turn % 2 != 0;
        start(state);
        struct hd_wait_seen own = on_a_coroutine(LOOP_SET, 1, 0, above ? LOOPS_BASE : CALLS_BASE);
        struct hd_wait_seen call =
            on_a_coroutine(set_of(900, 0, 0, 0), 2, 200, above ? CALLS_BASE : LOOPS_BASE);
        if (turn >= 2) {
            own.at.stack_base = call.at.stack_base = HD_BASE_UNKNOWN;
        }
        wait_seen(&call, 50); /* it comes first, and returns */
        for (int i = 0; i < 8; i++) {
            wait_seen(&own, 200);
            wait_seen(&call, 100);
        }
        for (uint32_t g = 0; g < HD_RULE_GROUPS; g++) {
            assert_false(rule.group[g].returns.inner);
        }
    }
}

/* It was left for the thread's own stack, or for a third one: what waited there may have been outside of its
 * turn. */
static void a_loop_on_a_stack_of_its_own_may_be_left(void **state) {
    struct hd_wait_seen own = on_a_coroutine(LOOP_SET, 1, 0, LOOPS_BASE);
    struct hd_wait_seen call = on_a_coroutine(set_of(900, 0, 0, 0), 2, 200, LOOPS_BASE);
    struct hd_wait_seen other[] = {
        on_a_coroutine(set_of(901, 0, 0, 0), 3, 0, LOOPS_BASE - 0x100000),
        {.set = set_of(901, 0, 0, 0), .at = {.stack_hash = 3, .sp = MAIN_SP, .depth = 9}}};
    for (int i = 0; i < 2; i++) {
        start(state);
        wait_seen(&own, 100);
        wait_seen(&other[i], 100);
        wait_seen(&call, 100);
        wait_seen(&own, 100);
        assert_false(rule.group[0].returns.returned);
    }
}

/* ---- blocked outside, or in a callback ------------------------------------------------------------ */

/* A worker that asks its data base by poll, deep down, and is idle in accept, in a condition variable,
 * asleep. */
static void who_idles_elsewhere_has_no_sure_loop(void **state) {
    (void)state;
    struct hd_wait_seen query = {.set = set_of(900, 0, 0, 0),
                                 .at = {.stack_hash = 2, .sp = MAIN_SP - 900, .depth = 9}};
    struct hd_call_site accepts = {.sp = MAIN_SP - 100, .depth = 4};
    for (int i = 0; i < 600; i++) { /* it has much to do */
        wait_seen(&query, 30);
    }
    assert_true(hd_rule_certain(&rule));
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t idle_ns =
            (i == 0 ? 15000 : 1500) * MS; /* also longer than a loop takes to be certain by its age */
        now_ns += idle_ns;
        hd_rule_blocked_at(&rule, &accepts);
        assert_false(hd_rule_certain(&rule)); /* from then on: what it hangs is held */
        wait_seen(&query, 30);
        wait_seen(&query, 30);
        assert_false(hd_rule_certain(&rule));
    }
    assert_false(hd_rule_is_valid(&rule)); /* at the program's end nothing is reported either */
}

/* Deeper, or by more frames: in a callback. */
static void who_is_blocked_in_a_callback_has_a_sure_loop(void **state) {
    (void)state;
    struct hd_wait_seen own = {.set = LOOP_SET, .at = {.stack_hash = 1, .sp = MAIN_SP - 12000, .depth = 5}};
    struct hd_call_site callbacks[] = {{.sp = MAIN_SP - 13000, .depth = 4},
                                       {.sp = MAIN_SP - 300, .depth = 7}};
    for (int i = 0; i < 120; i++) {
        wait_seen(&own, 100);
    }
    for (int i = 0; i < 20; i++) {
        now_ns += 1500 * MS;
        hd_rule_blocked_at(&rule, &callbacks[i % 2]);
        wait_seen(&own, 100);
        assert_true(hd_rule_certain(&rule));
    }
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        CASE(a_loop_on_a_stack_of_its_own_returns_there),   CASE(what_waits_on_other_stacks_proves_nothing),
        CASE(a_loop_on_a_stack_of_its_own_may_be_left),     CASE(who_idles_elsewhere_has_no_sure_loop),
        CASE(who_is_blocked_in_a_callback_has_a_sure_loop),
    };
    return cmocka_run_group_tests_name("rule_stacks", tests, NULL, NULL);
}
