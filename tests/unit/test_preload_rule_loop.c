/* SPDX-License-Identifier: MIT
 *
 * The rule, on waits made by hand: which waits are the loop's. It has evidence or waits often, returns,
 * is succeeded, and is certain.
 */
#include "rule_by_hand.h"

/* ---- when there is a loop ------------------------------------------------------------------------ */

static void a_loop_is_known_from_its_third_wait_and_100_ms_on(void **state) {
    (void)state;
    assert_int_equal(loop_waits(10), HD_WAIT_UNKNOWN);
    assert_int_equal(loop_waits(10), HD_WAIT_UNKNOWN);
    assert_int_equal(loop_waits(10), HD_WAIT_UNKNOWN);
    assert_int_equal(loop_waits(70), HD_WAIT_UNKNOWN);
    assert_int_equal(loop_waits(10), HD_WAIT_IDLE);
}

static void two_long_waits_are_no_loop(void **state) {
    (void)state;
    loop_waits(5000);
    loop_waits(5000);
    assert_int_equal(rule.loop, HD_RULE_NONE);
    assert_int_equal(loop_waits(1), HD_WAIT_UNKNOWN);
    assert_int_equal(loop_waits(1), HD_WAIT_IDLE);
}

static void many_waits_together_count_as_many(void **state) {
    (void)state;
    struct hd_wait_seen w = {.set = LOOP_SET, .at = {.stack_hash = LOOP_PLACE, .sp = MAIN_SP}};
    uint32_t group = hd_rule_group_of(&rule, &w);
    w.times = (struct hd_wait_times){
        .waits = 40, .waited_ns = 500 * MS, .order = 40, .ended_ns = now_ns + 500 * MS};
    hd_rule_waited(&rule, group, &w);
    assert_int_equal(rule.loop, group);
}

/* A worker that comes late is told of the waits since by the last of each kind: the call's was before the
 * loop's. */
static void the_first_wait_is_the_outer_one_also_in_late_news(void **state) {
    (void)state;
    struct hd_wait_seen call = {
        .set = set_of(900, 0, 0, 0), .at = {.stack_hash = 9, .sp = MAIN_SP - 500}, .times.first = 2000};
    struct hd_wait_seen loop = {
        .set = LOOP_SET, .at = {.stack_hash = LOOP_PLACE, .sp = MAIN_SP}, .times.first = 1000};
    for (int i = 0; i < 10; i++) {
        wait_seen(&call, 300);
        wait_seen(&loop, 100);
    }
    assert_int_equal(wait_seen(&call, 300), HD_WAIT_BUSY);
    assert_int_equal(wait_seen(&loop, 100), HD_WAIT_IDLE);
}

static void many_sockets_one_after_the_other_from_one_place_are_no_loop(void **state) {
    (void)state;
    for (uint64_t s = 1; s <= 100; s++) {
        struct hd_set one = set_of(1000 + s, 0, 0, 0);
        assert_int_equal(wait_at(one, LOOP_PLACE, MAIN_SP, 30), HD_WAIT_UNKNOWN);
        assert_int_equal(wait_at(one, LOOP_PLACE, MAIN_SP, 30), HD_WAIT_UNKNOWN);
        now_ns += 100 * MS;
    }
}

static void start_up_round_trips_to_another_place_do_not_become_the_loop(void **state) {
    (void)state;
    struct hd_set x = set_of(100, 0, 0, 0);
    for (uint64_t i = 0; i < 200; i++) { /* an X client: hundreds, 0 to 5 ms, all asking */
        assert_int_equal(wait_asking(x, 50 + i % 13, MAIN_SP - 500, 3), HD_WAIT_UNKNOWN);
    }
    loop_waits(50);
    loop_waits(50);
    loop_waits(50);
    assert_int_equal(loop_waits(50), HD_WAIT_IDLE);
}

/* ---- evidence ------------------------------------------------------------------------------------ */

static struct hd_wait_seen evident(uint64_t object, uint64_t place, uint64_t sp, enum hd_wait_evidence e) {
    const struct hd_wait_seen w = {.set = set_of(object, 0, 0, 0), .at = {.stack_hash = place, .sp = sp}};
    return with_evidence(w, e);
}

static void see(const struct hd_wait_seen *w) {
    hd_rule_seen(&rule, hd_rule_group_of(&rule, w), w, true, now_ns);
}

static void a_loop_with_evidence_is_known_while_its_first_wait_lasts(void **state) {
    (void)state;
    struct hd_wait_seen own = evident(EPOLL + 1, 1, MAIN_SP, HD_WAIT_EVIDENCE_BY_KIND);
    see(&own);
    assert_true(hd_rule_has_evidence(&rule));
    assert_false(hd_rule_certain(&rule));
    assert_int_equal(wait_seen(&own, 10), HD_WAIT_IDLE);
}

static void a_loop_with_evidence_is_certain_once_its_place_waits_again(void **state) {
    (void)state;
    struct hd_wait_seen own = evident(EPOLL + 1, 1, MAIN_SP, HD_WAIT_EVIDENCE_BY_KIND);
    wait_seen(&own, 10);
    assert_false(hd_rule_certain(&rule));
    wait_seen(&own, 10);
    assert_true(hd_rule_certain(&rule));
}

/* A callback that blocks for nine tenths of the time, from the first turn on. */
static void a_call_that_blocks_for_longer_than_the_loop_waits_is_busy(void **state) {
    (void)state;
    struct hd_wait_seen own = evident(EPOLL + 1, 1, MAIN_SP, HD_WAIT_EVIDENCE_BY_KIND);
    for (int i = 0; i < 20; i++) {
        see(&own);
        assert_int_equal(wait_seen(&own, 10), HD_WAIT_IDLE);
        assert_int_equal(wait_at(set_of(900, 0, 0, 0), 8, MAIN_SP - 900, 900), HD_WAIT_BUSY);
    }
}

static void a_call_by_kind_is_no_loop_however_often_it_returns(void **state) {
    (void)state;
    struct hd_wait_seen call = evident(900, 1, MAIN_SP, HD_WAIT_EVIDENCE_CALL);
    for (int i = 0; i < 100; i++) {
        see(&call);
        assert_int_equal(wait_seen(&call, 300), HD_WAIT_UNKNOWN);
        now_ns += HD_NS_PER_S;
    }
}

/* A private loop in start-up, then the program's own. */
static void of_two_with_evidence_the_one_nearer_to_the_root_wins_at_once(void **state) {
    (void)state;
    struct hd_wait_seen inner = evident(EPOLL + 1, 1, MAIN_SP - 900, HD_WAIT_EVIDENCE_BY_NAME);
    struct hd_wait_seen outer = evident(EPOLL + 2, 2, MAIN_SP, HD_WAIT_EVIDENCE_BY_KIND);
    for (int i = 0; i < 50; i++) {
        wait_seen(&inner, 1000);
    }
    assert_true(hd_rule_certain(&rule));
    see(&outer);
    assert_int_equal(wait_seen(&outer, 1), HD_WAIT_IDLE);
    assert_int_equal(wait_seen(&inner, 1000), HD_WAIT_BUSY);
}

static void a_loop_with_evidence_succeeds_a_plain_one_that_is_not_certain(void **state) {
    (void)state;
    struct hd_wait_seen own = evident(EPOLL + 1, 1, MAIN_SP - 900, HD_WAIT_EVIDENCE_BY_KIND);
    a_loop_of(1);
    see(&own);
    assert_int_equal(wait_seen(&own, 1), HD_WAIT_IDLE);
    a_loop_of(20); /* it has not waited for 10 s, and the other one is nearer to the root: it was left */
    assert_true(hd_rule_certain(&rule));
    see(&own);
    assert_int_equal(wait_seen(&own, 1), HD_WAIT_BUSY); /* deeper than a certain one: in its turn */
}

/* ---- return is proof ----------------------------------------------------------------------------- */

static void a_transfer_longer_than_all_waiting_is_busy_for_ten_seconds(void **state) {
    (void)state;
    struct hd_set transfer = set_of(900, 901, 0, 0);
    a_loop_of(1);
    for (int i = 0; i < 25; i++) {
        assert_int_equal(wait_at(transfer, 8, MAIN_SP - 900, 400), HD_WAIT_BUSY);
    }
    assert_int_equal(wait_at(transfer, 8, MAIN_SP - 900, 400), HD_WAIT_IDLE);
    loop_waits(10); /* it returns, and all is as it was, for good */
    assert_int_equal(loop_waits(10), HD_WAIT_IDLE);
    for (int i = 0; i < 140; i++) {
        assert_int_equal(wait_at(transfer, 8, MAIN_SP - 900, 400), HD_WAIT_BUSY);
    }
    assert_int_equal(loop_waits(10), HD_WAIT_IDLE);
}

/* As libuv: the call stands at a higher address than the loop's own wait, but further from the root. */
static void a_shallower_wait_of_more_frames_was_inside_the_turn(void **state) {
    (void)state;
    struct hd_wait_seen own = {.set = LOOP_SET, .at = {.stack_hash = 1, .sp = MAIN_SP - 12000, .depth = 5}};
    struct hd_wait_seen call = {.set = set_of(900, 0, 0, 0),
                                .at = {.stack_hash = 2, .sp = MAIN_SP - 300, .depth = 7}};
    for (int i = 0; i < 6; i++) {
        wait_seen(&own, 100);
    }
    for (int i = 0; i < 50; i++) {
        assert_int_equal(wait_seen(&call, 300), HD_WAIT_BUSY);
        assert_int_equal(wait_seen(&own, 10), HD_WAIT_IDLE);
    }
}

static void a_blocking_call_met_before_the_loop_is_known_can_never_be_the_loop(void **state) {
    (void)state;
    struct hd_set pipe = set_of(900, 0, 0, 0);
    loop_waits(5);
    for (int i = 0; i < 5; i++) {
        wait_at(pipe, 8, MAIN_SP - 900, 300); /* the first callback runs a command */
    }
    loop_waits(5);
    assert_int_equal(rule.loop, HD_RULE_NONE);
    loop_waits(5);
    for (int i = 0; i < 5; i++) {
        assert_int_not_equal(wait_at(pipe, 8, MAIN_SP - 900, 300), HD_WAIT_IDLE);
    }
}

static void a_shallower_wait_is_not_proven_to_be_inside_the_loops_turn(void **state) {
    (void)state;
    struct hd_set outer = set_of(500, 0, 0, 0);
    a_loop_of(1);
    wait_at(outer, 4, MAIN_SP + 4000, 10);
    loop_waits(10);
    for (int i = 0; i < 5; i++) {
        wait_at(outer, 4, MAIN_SP + 4000, 2000);
    }
    assert_int_equal(wait_at(outer, 4, MAIN_SP + 4000, 10), HD_WAIT_IDLE);
}

static void a_nested_wait_of_the_loop_proves_nothing_about_what_waited_outside_of_it(void **state) {
    (void)state;
    struct hd_set other = set_of(500, 0, 0, 0);
    wait_at(LOOP_SET, LOOP_PLACE, MAIN_SP, 20);
    wait_at(other, 4, MAIN_SP - 500, 20);
    wait_at(LOOP_SET, 7, MAIN_SP - 2000, 20);
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        assert_false(rule.group[i].returns.inner);
    }
}

/* ---- succession ---------------------------------------------------------------------------------- */

static void an_old_loop_is_succeeded_after_10_s_once_the_new_one_has_waited_longer(void **state) {
    (void)state;
    struct hd_set second = set_of(500, 0, 0, 0);
    a_loop_of(4);
    for (int i = 0; i < 100; i++) {
        assert_int_not_equal(wait_at(second, 4, MAIN_SP + 100, 100), HD_WAIT_IDLE);
        assert_false(hd_rule_certain(&rule)); /* nothing is reported of it */
    }
    assert_int_equal(wait_at(second, 4, MAIN_SP + 100, 100), HD_WAIT_IDLE);
}

static void a_loop_that_is_gone_waits_for_others_at_its_place(void **state) {
    (void)state;
    struct hd_set others = set_of(500, 600, 0, 0);
    a_loop_of(400);
    assert_int_equal(wait_at(others, LOOP_PLACE, MAIN_SP, 100), HD_WAIT_BUSY); /* while it may come back */
    hd_rule_closed(&rule);
    assert_int_equal(wait_at(others, LOOP_PLACE, MAIN_SP, 100), HD_WAIT_IDLE);
    assert_int_equal(wait_at(set_of(700, 0, 0, 0), LOOP_PLACE, MAIN_SP, 100), HD_WAIT_BUSY);
    assert_int_equal(wait_at(others, 8, MAIN_SP - 900, 100), HD_WAIT_IDLE); /* nested */
}

/* The worker comes late, and one number was several connections: three of them were the loop. */
static void one_connection_after_the_other_is_closed_and_is_no_loop(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        for (int wait = 0; wait < 3; wait++) {
            wait_at(set_of(500 + i, 0, 0, 0), LOOP_PLACE, MAIN_SP, 40);
        }
        hd_rule_closed(&rule);
        assert_false(hd_rule_certain(&rule));
    }
    assert_false(hd_rule_has_evidence(&rule));
}

static void a_loop_that_is_gone_is_succeeded_by_one_that_is_not_inside_of_it(void **state) {
    (void)state;
    struct hd_set outer = set_of(500, 0, 0, 0), inner = set_of(600, 0, 0, 0);
    a_loop_of(400);
    hd_rule_closed(&rule);
    for (int i = 0; i < 3; i++) { /* a call in its last turn, perhaps */
        assert_int_equal(wait_at(inner, 5, MAIN_SP - 100, 1000), HD_WAIT_BUSY);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(wait_at(outer, 4, MAIN_SP + 100, 1000), HD_WAIT_BUSY);
    }
    assert_int_equal(wait_at(outer, 4, MAIN_SP + 100, 100), HD_WAIT_IDLE);
}

/* ---- certain ---------------------------------------------------------------------------------------- */

static void a_plain_loop_that_waits_again_after_10_s_is_certain(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        loop_waits(100);
    }
    now_ns += 10 * HD_NS_PER_S;
    assert_false(hd_rule_certain(&rule)); /* it may never wait again */
    loop_waits(1);
    assert_true(hd_rule_certain(&rule));
}

/* ---- a loop that the program has left -------------------------------------------------------------- */

static struct hd_wait_seen enclosed(uint64_t object, uint64_t sp, enum hd_wait_evidence e,
                                    enum hd_wait_enclosed in) {
    struct hd_wait_seen w = evident(object, sp, sp, e);
    w.stack.enclosed = (uint8_t)in;
    return w;
}

/* asyncio.run, g_main_loop_run, and then work with children. */
static void a_wait_where_the_loops_function_is_not_says_that_it_is_over(void **state) {
    (void)state;
    struct hd_wait_seen own = enclosed(1, MAIN_SP, HD_WAIT_EVIDENCE_BY_NAME, HD_ENCLOSED);
    struct hd_wait_seen before = enclosed(2, MAIN_SP - 10, HD_WAIT_EVIDENCE_CALL, HD_NOT_ENCLOSED);
    struct hd_wait_seen callback = enclosed(3, MAIN_SP - 900, HD_WAIT_EVIDENCE_REQUEST, HD_ENCLOSED);
    struct hd_wait_seen after = enclosed(4, MAIN_SP - 20, HD_WAIT_EVIDENCE_REQUEST, HD_NOT_ENCLOSED);
    see(&own); /* of what waited before it the rule hears later */
    wait_seen(&before, 10);
    assert_false(hd_rule_is_over(&rule));
    wait_seen(&own, 10);
    wait_seen(&own, 10);
    wait_seen(&callback, 1000);
    assert_false(hd_rule_is_over(&rule));
    see(&after);
    assert_true(hd_rule_is_over(&rule));
    assert_true(hd_rule_certain(&rule)); /* what it did before stays */
    wait_seen(&own, 10);
    assert_false(hd_rule_is_over(&rule));
    wait_seen(&after, 10);
    assert_true(hd_rule_is_over(&rule));
}

/* A program that calls one turn after the other works in between. A stack that is not whole says nothing. */
static void a_loop_that_no_function_encloses_is_not_over(void **state) {
    (void)state;
    struct hd_wait_seen own = enclosed(1, MAIN_SP, HD_WAIT_EVIDENCE_BY_NAME, HD_NOT_ENCLOSED);
    struct hd_wait_seen call = enclosed(4, MAIN_SP - 20, HD_WAIT_EVIDENCE_CALL, HD_NOT_ENCLOSED);
    wait_seen(&own, 10);
    wait_seen(&own, 10);
    wait_seen(&call, 1000);
    assert_false(hd_rule_is_over(&rule));
    own.stack.enclosed = HD_ENCLOSED; /* by another of its places */
    wait_seen(&own, 10);
    wait_seen(&call, 1000);
    assert_false(hd_rule_is_over(&rule));
    start(NULL);
    call.stack.enclosed = HD_ENCLOSED_UNKNOWN;
    wait_seen(&own, 10);
    wait_seen(&own, 10);
    wait_seen(&call, 1000);
    assert_false(hd_rule_is_over(&rule));
}

static void a_loop_whose_descriptors_are_closed_is_over_until_it_waits_for_others(void **state) {
    (void)state;
    struct hd_wait_seen own = evident(EPOLL + 1, 1, MAIN_SP, HD_WAIT_EVIDENCE_BY_KIND);
    wait_seen(&own, 10);
    wait_seen(&own, 10);
    assert_false(hd_rule_is_over(&rule));
    hd_rule_closed(&rule);
    assert_true(hd_rule_is_over(&rule));
    own = evident(EPOLL + 2, 1, MAIN_SP, HD_WAIT_EVIDENCE_BY_KIND);
    wait_seen(&own, 10);
    assert_false(hd_rule_is_over(&rule));
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        CASE(a_loop_is_known_from_its_third_wait_and_100_ms_on),
        CASE(two_long_waits_are_no_loop),
        CASE(many_waits_together_count_as_many),
        CASE(the_first_wait_is_the_outer_one_also_in_late_news),
        CASE(many_sockets_one_after_the_other_from_one_place_are_no_loop),
        CASE(start_up_round_trips_to_another_place_do_not_become_the_loop),
        CASE(a_loop_with_evidence_is_known_while_its_first_wait_lasts),
        CASE(a_loop_with_evidence_is_certain_once_its_place_waits_again),
        CASE(a_call_that_blocks_for_longer_than_the_loop_waits_is_busy),
        CASE(a_call_by_kind_is_no_loop_however_often_it_returns),
        CASE(of_two_with_evidence_the_one_nearer_to_the_root_wins_at_once),
        CASE(a_loop_with_evidence_succeeds_a_plain_one_that_is_not_certain),
        CASE(a_transfer_longer_than_all_waiting_is_busy_for_ten_seconds),
        CASE(a_shallower_wait_of_more_frames_was_inside_the_turn),
        CASE(a_blocking_call_met_before_the_loop_is_known_can_never_be_the_loop),
        CASE(a_shallower_wait_is_not_proven_to_be_inside_the_loops_turn),
        CASE(a_nested_wait_of_the_loop_proves_nothing_about_what_waited_outside_of_it),
        CASE(an_old_loop_is_succeeded_after_10_s_once_the_new_one_has_waited_longer),
        CASE(a_loop_that_is_gone_waits_for_others_at_its_place),
        CASE(one_connection_after_the_other_is_closed_and_is_no_loop),
        CASE(a_loop_that_is_gone_is_succeeded_by_one_that_is_not_inside_of_it),
        CASE(a_plain_loop_that_waits_again_after_10_s_is_certain),
        CASE(a_wait_where_the_loops_function_is_not_says_that_it_is_over),
        CASE(a_loop_that_no_function_encloses_is_not_over),
        CASE(a_loop_whose_descriptors_are_closed_is_over_until_it_waits_for_others),
    };
    return cmocka_run_group_tests_name("rule_loop", tests, NULL, NULL);
}
