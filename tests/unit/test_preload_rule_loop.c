/* SPDX-License-Identifier: MIT
 *
 * The rule, on waits made by hand: which waits are the loop's. It becomes known, is proven by returns, is
 * succeeded, and is sure.
 */
#include "rule_by_hand.h"

static bool sure_at(uint64_t at_ns) {
    hd_rule_tick(&rule, at_ns);
    return hd_rule_sure(&rule);
}

/* ---- when there is a loop ------------------------------------------------------------------------ */

static void a_loop_is_known_from_its_third_wait_and_100_ms_on(void **state) {
    (void)state;
    assert_int_equal(loop_waits(10), HD_VERDICT_UNKNOWN);
    assert_int_equal(loop_waits(10), HD_VERDICT_UNKNOWN);
    assert_int_equal(loop_waits(10), HD_VERDICT_UNKNOWN);
    assert_int_equal(loop_waits(70), HD_VERDICT_UNKNOWN);
    assert_int_equal(loop_waits(10), HD_VERDICT_IDLE);
}

static void two_long_waits_are_no_loop(void **state) {
    (void)state;
    loop_waits(5000);
    loop_waits(5000);
    assert_int_equal(rule.loop, HD_RULE_NONE);
    assert_int_equal(loop_waits(1), HD_VERDICT_UNKNOWN);
    assert_int_equal(loop_waits(1), HD_VERDICT_IDLE);
}

static void many_waits_together_count_as_many(void **state) {
    (void)state;
    struct hd_seen_wait w = {.set = LOOP_SET, .at = {.place = LOOP_PLACE, .sp = MAIN_SP}};
    uint32_t group = hd_rule_group_of(&rule, &w);
    hd_rule_waited(&rule, group, &w, 500 * MS, 40, 40, now_ns + 500 * MS);
    assert_int_equal(rule.loop, group);
}

/* A worker that comes late is told of the waits since by the last of each kind: the call's was before the
 * loop's. */
static void who_waited_first_is_the_outer_one_however_late_it_is_told(void **state) {
    (void)state;
    struct hd_seen_wait call = {
        .set = set_of(900, 0, 0, 0), .at = {.place = 9, .sp = MAIN_SP - 500}, .first = 2000};
    struct hd_seen_wait loop = {.set = LOOP_SET, .at = {.place = LOOP_PLACE, .sp = MAIN_SP}, .first = 1000};
    for (int i = 0; i < 10; i++) {
        wait_seen(&call, 300);
        wait_seen(&loop, 100);
    }
    assert_int_equal(wait_seen(&call, 300), HD_VERDICT_BUSY);
    assert_int_equal(wait_seen(&loop, 100), HD_VERDICT_IDLE);
}

static void without_more_than_half_of_the_blocked_time_there_is_no_loop(void **state) {
    (void)state;
    hd_rule_blocked(&rule, 2000 * MS, now_ns); /* in a condition variable, as Tk does it */
    for (int i = 0; i < 19; i++) {
        assert_int_equal(loop_waits(100), HD_VERDICT_UNKNOWN);
    }
    loop_waits(200);
    assert_int_equal(loop_waits(100), HD_VERDICT_IDLE);
}

static void a_loop_that_the_thread_leaves_for_long_comes_into_doubt_and_falls(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) { /* a loop, and not yet sure */
        loop_waits(100);
    }
    uint64_t changes = rule.changes;
    hd_rule_blocked(&rule, 10000 * MS, now_ns);
    hd_rule_tick(&rule, now_ns);
    assert_int_not_equal(rule.loop, HD_RULE_NONE);
    assert_false(hd_rule_stands(&rule)); /* a hang that is open may yet turn out to be none */
    hd_rule_tick(&rule, now_ns + 61 * HD_NS_PER_S);
    assert_int_equal(rule.loop, HD_RULE_NONE);
    assert_int_equal(rule.changes, changes + 1);
}

static void a_loop_that_waits_again_was_only_hanging(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) { /* a loop, and not yet sure */
        loop_waits(100);
    }
    uint64_t changes = rule.changes;
    hd_rule_blocked(&rule, 10000 * MS, now_ns);
    hd_rule_tick(&rule, now_ns);
    assert_false(hd_rule_stands(&rule));
    assert_int_equal(loop_waits(1), HD_VERDICT_IDLE);
    assert_true(hd_rule_stands(&rule));
    assert_int_equal(rule.changes, changes);
}

/* A program that is killed in the first hang of its loop, and one that asked somebody and is then parked. */
static void a_young_loop_stands_until_its_turn_is_twice_as_long_as_it_waited(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        loop_waits(500);
    }
    hd_rule_blocked(&rule, 3900 * MS, now_ns);
    assert_true(hd_rule_stands(&rule));
    hd_rule_blocked(&rule, 200 * MS, now_ns);
    assert_false(hd_rule_stands(&rule));
    hd_rule_blocked(&rule, 100 * HD_NS_PER_S, now_ns);
    assert_int_equal(loop_waits(1), HD_VERDICT_IDLE); /* return decides */
    assert_true(hd_rule_stands(&rule));
}

static void many_sockets_one_after_the_other_from_one_place_are_no_loop(void **state) {
    (void)state;
    for (uint64_t s = 1; s <= 100; s++) {
        struct hd_set one = set_of(1000 + s, 0, 0, 0);
        assert_int_equal(wait_at(one, LOOP_PLACE, MAIN_SP, 30), HD_VERDICT_UNKNOWN);
        assert_int_equal(wait_at(one, LOOP_PLACE, MAIN_SP, 30), HD_VERDICT_UNKNOWN);
        now_ns += 100 * MS;
    }
}

static void start_up_round_trips_to_another_place_do_not_become_the_loop(void **state) {
    (void)state;
    struct hd_set x = set_of(100, 0, 0, 0);
    for (uint64_t i = 0; i < 200; i++) { /* an X client: hundreds, 0 to 5 ms, all asking */
        assert_int_equal(wait_asking(x, 50 + i % 13, MAIN_SP - 500, 3), HD_VERDICT_UNKNOWN);
    }
    loop_waits(50);
    loop_waits(50);
    loop_waits(50);
    assert_int_equal(loop_waits(50), HD_VERDICT_IDLE);
}

/* ---- return is proof ----------------------------------------------------------------------------- */

static void a_transfer_longer_than_all_waiting_is_busy_for_ten_seconds(void **state) {
    (void)state;
    struct hd_set transfer = set_of(900, 901, 0, 0);
    a_loop_of(1);
    for (int i = 0; i < 25; i++) {
        assert_int_equal(wait_at(transfer, 8, MAIN_SP - 900, 400), HD_VERDICT_BUSY);
    }
    assert_int_equal(wait_at(transfer, 8, MAIN_SP - 900, 400), HD_VERDICT_IDLE);
    loop_waits(10); /* it returns, and all is as it was, for good */
    assert_int_equal(loop_waits(10), HD_VERDICT_IDLE);
    for (int i = 0; i < 140; i++) {
        assert_int_equal(wait_at(transfer, 8, MAIN_SP - 900, 400), HD_VERDICT_BUSY);
    }
    assert_int_equal(loop_waits(10), HD_VERDICT_IDLE);
}

static void a_transfer_in_a_proven_loop_is_busy_for_a_minute(void **state) {
    (void)state;
    struct hd_set transfer = set_of(900, 901, 0, 0);
    a_loop_of(1);
    wait_at(set_of(800, 0, 0, 0), 7, MAIN_SP - 700, 30); /* some other call, and back */
    loop_waits(10);
    for (int i = 0; i < 149; i++) {
        assert_int_equal(wait_at(transfer, 8, MAIN_SP - 900, 400), HD_VERDICT_BUSY);
    }
    assert_int_equal(loop_waits(10), HD_VERDICT_IDLE);
}

/* As libuv: the call stands at a higher address than the loop's own wait, but further from the root. */
static void a_shallower_wait_of_more_frames_was_inside_the_turn(void **state) {
    (void)state;
    struct hd_seen_wait own = {.set = LOOP_SET, .at = {.place = 1, .sp = MAIN_SP - 12000, .depth = 5}};
    struct hd_seen_wait call = {.set = set_of(900, 0, 0, 0),
                                .at = {.place = 2, .sp = MAIN_SP - 300, .depth = 7}};
    for (int i = 0; i < 6; i++) {
        wait_seen(&own, 100);
    }
    for (int i = 0; i < 50; i++) {
        assert_int_equal(wait_seen(&call, 300), HD_VERDICT_BUSY);
        assert_int_equal(wait_seen(&own, 10), HD_VERDICT_IDLE);
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
        assert_int_not_equal(wait_at(pipe, 8, MAIN_SP - 900, 300), HD_VERDICT_IDLE);
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
    assert_int_equal(wait_at(outer, 4, MAIN_SP + 4000, 10), HD_VERDICT_IDLE);
}

static void a_nested_wait_of_the_loop_proves_nothing_about_what_waited_outside_of_it(void **state) {
    (void)state;
    struct hd_set other = set_of(500, 0, 0, 0);
    wait_at(LOOP_SET, LOOP_PLACE, MAIN_SP, 20);
    wait_at(other, 4, MAIN_SP - 500, 20);
    wait_at(LOOP_SET, 7, MAIN_SP - 2000, 20);
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        assert_false(rule.group[i].inner);
    }
}

/* ---- succession ---------------------------------------------------------------------------------- */

static void an_old_loop_is_succeeded_after_10_s_once_the_new_one_has_waited_longer(void **state) {
    (void)state;
    struct hd_set second = set_of(500, 0, 0, 0);
    a_loop_of(4);
    for (int i = 0; i < 100; i++) {
        assert_int_not_equal(wait_at(second, 4, MAIN_SP + 100, 100), HD_VERDICT_IDLE);
        assert_false(hd_rule_sure(&rule)); /* nothing is reported of it */
    }
    assert_int_equal(wait_at(second, 4, MAIN_SP + 100, 100), HD_VERDICT_IDLE);
}

static void a_loop_that_is_gone_waits_for_others_at_its_place(void **state) {
    (void)state;
    struct hd_set others = set_of(500, 600, 0, 0);
    a_loop_of(400);
    assert_int_equal(wait_at(others, LOOP_PLACE, MAIN_SP, 100), HD_VERDICT_BUSY); /* while it may come back */
    hd_rule_gone(&rule);
    assert_int_equal(wait_at(others, LOOP_PLACE, MAIN_SP, 100), HD_VERDICT_IDLE);
    assert_int_equal(wait_at(set_of(700, 0, 0, 0), LOOP_PLACE, MAIN_SP, 100), HD_VERDICT_BUSY);
    assert_int_equal(wait_at(others, 8, MAIN_SP - 900, 100), HD_VERDICT_IDLE); /* nested */
}

/* The worker comes late, and one number was several connections: three of them were the loop. */
static void one_connection_after_the_other_is_closed_and_is_no_loop(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        for (int wait = 0; wait < 3; wait++) {
            wait_at(set_of(500 + i, 0, 0, 0), LOOP_PLACE, MAIN_SP, 40);
        }
        hd_rule_gone(&rule);
        assert_false(hd_rule_sure(&rule));
    }
    assert_false(hd_rule_stands(&rule));
}

static void a_loop_that_is_gone_is_succeeded_by_one_that_is_not_inside_of_it(void **state) {
    (void)state;
    struct hd_set outer = set_of(500, 0, 0, 0), inner = set_of(600, 0, 0, 0);
    a_loop_of(400);
    hd_rule_gone(&rule);
    for (int i = 0; i < 3; i++) { /* a call in its last turn, perhaps */
        assert_int_equal(wait_at(inner, 5, MAIN_SP - 100, 1000), HD_VERDICT_BUSY);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(wait_at(outer, 4, MAIN_SP + 100, 1000), HD_VERDICT_BUSY);
    }
    assert_int_equal(wait_at(outer, 4, MAIN_SP + 100, 100), HD_VERDICT_IDLE);
}

/* Start-up's download, then a loop: its first callback that waits for anything tells. */
static void a_loop_that_returned_from_a_callback_succeeds_one_that_never_did_at_once(void **state) {
    (void)state;
    struct hd_set download = set_of(900, 901, 0, 0);
    for (int i = 0; i < 30; i++) {
        wait_at(download, 8, MAIN_SP - 900, 100);
    }
    for (int i = 0; i < 5; i++) {
        assert_int_equal(loop_waits(100), HD_VERDICT_BUSY);
        assert_false(hd_rule_sure(&rule));
    }
    assert_int_equal(wait_at(set_of(700, 0, 0, 0), 7, MAIN_SP - 700, 400), HD_VERDICT_BUSY);
    assert_false(hd_rule_sure(&rule));
    loop_waits(100);
    assert_int_equal(loop_waits(100), HD_VERDICT_IDLE);
    assert_int_equal(wait_at(set_of(700, 0, 0, 0), 7, MAIN_SP - 700, 400), HD_VERDICT_BUSY);
}

static void a_round_trip_in_a_callback_proves_as_well(void **state) {
    (void)state;
    struct hd_set download = set_of(900, 901, 0, 0);
    for (int i = 0; i < 30; i++) {
        wait_at(download, 8, MAIN_SP - 900, 100);
    }
    for (int i = 0; i < 3; i++) {
        loop_waits(100);
    }
    wait_asking(set_of(100, 0, 0, 0), 50, MAIN_SP - 700, 1);
    loop_waits(100);
    assert_int_equal(loop_waits(100), HD_VERDICT_IDLE);
}

static void sums_are_halved_each_minute_so_that_a_day_is_succeeded_in_minutes(void **state) {
    (void)state;
    struct hd_set second = set_of(500, 0, 0, 0);
    for (int i = 0; i < 24 * 60; i++) {
        loop_waits(60000);
    }
    uint64_t until = now_ns + 150 * HD_NS_PER_S;
    while (wait_at(second, 4, MAIN_SP + 100, 1000) != HD_VERDICT_IDLE) {
        assert_true(now_ns < until);
    }
}

static void a_wait_of_a_day_does_not_stall_the_halving(void **state) {
    (void)state;
    a_loop_of(1);
    loop_waits(24 * 3600 * 1000ULL);
    assert_true(hd_rule_stands(&rule));
    assert_int_equal(loop_waits(1), HD_VERDICT_IDLE);
    assert_true(now_ns - rule.halved_ns < 60 * HD_NS_PER_S);
}

/* Its last wait is the youngest of all that it has waited, and weighs as that. */
static void a_loop_that_sat_idle_for_long_is_not_outweighed_by_one_transfer(void **state) {
    (void)state;
    a_loop_of(20);
    loop_waits(600000);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(wait_at(set_of(900, 901, 0, 0), 8, MAIN_SP - 900, 400), HD_VERDICT_BUSY);
    }
    assert_int_equal(loop_waits(10), HD_VERDICT_IDLE);
}

/* So does what the thread was blocked elsewhere, told when that was over. */
static void a_day_blocked_elsewhere_outweighs_the_first_waits_and_no_more(void **state) {
    (void)state;
    now_ns += 24 * 3600 * HD_NS_PER_S;
    hd_rule_blocked(&rule, 24 * 3600 * HD_NS_PER_S, now_ns);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(loop_waits(1000), HD_VERDICT_UNKNOWN);
    }
    for (int i = 0; i < 90; i++) {
        loop_waits(1000);
    }
    assert_int_equal(loop_waits(1), HD_VERDICT_IDLE);
}

/* ---- sure ---------------------------------------------------------------------------------------- */

/* Once it has come back from a turn that was long: it may be over when it blocks for the first time. */
static void a_loop_that_came_back_is_sure_by_its_weight(void **state) {
    (void)state;
    assert_false(sure_at(now_ns));
    hd_rule_blocked(&rule, 90 * MS, now_ns);
    for (int i = 0; i < 4; i++) {
        loop_waits(100);
    }
    assert_false(sure_at(now_ns));
    assert_false(sure_at(now_ns + 10 * HD_NS_PER_S)); /* it may never wait again */
    for (int i = 0; i < 7; i++) {
        now_ns += 150 * MS;
        loop_waits(100);
    }
    assert_false(sure_at(now_ns));
    now_ns += 250 * MS;
    loop_waits(100);
    assert_true(sure_at(now_ns));
}

static void a_loop_that_waits_again_after_10_s_is_sure(void **state) {
    (void)state;
    hd_rule_blocked(&rule, 200 * MS, now_ns);
    for (int i = 0; i < 4; i++) {
        loop_waits(100);
    }
    now_ns += 10 * HD_NS_PER_S;
    assert_false(sure_at(now_ns));
    loop_waits(1);
    assert_true(hd_rule_sure(&rule));
}

/* Which of the two is the loop is told by the return. Later it has been told. */
static void a_young_loop_is_not_sure_while_somebody_unknown_waits(void **state) {
    (void)state;
    struct hd_seen_wait call = {.set = set_of(900, 0, 0, 0), .at = {.place = 8, .sp = MAIN_SP - 900}};
    a_loop_of(2);
    now_ns += 300 * MS;
    loop_waits(10);
    assert_true(hd_rule_sure(&rule));
    hd_rule_waiting(&rule, hd_rule_group_of(&rule, &call));
    assert_false(hd_rule_sure(&rule));
    wait_seen(&call, 3000);
    loop_waits(10);
    assert_true(hd_rule_sure(&rule));
    hd_rule_waiting(&rule, hd_rule_group_of(&rule, &call)); /* it is known by now */
    assert_true(hd_rule_sure(&rule));
    now_ns += 10 * HD_NS_PER_S;
    loop_waits(10);
    call.set = set_of(901, 0, 0, 0);
    hd_rule_waiting(&rule, hd_rule_group_of(&rule, &call));
    assert_true(hd_rule_sure(&rule));
}

static void a_loop_with_much_blocking_beside_it_is_not_sure_by_weight(void **state) {
    (void)state;
    hd_rule_blocked(&rule, 500 * MS, now_ns);
    for (int i = 0; i < 20; i++) {
        loop_waits(100);
    }
    assert_int_equal(loop_waits(100), HD_VERDICT_IDLE);
    assert_false(sure_at(now_ns));
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        CASE(a_loop_is_known_from_its_third_wait_and_100_ms_on),
        CASE(two_long_waits_are_no_loop),
        CASE(many_waits_together_count_as_many),
        CASE(who_waited_first_is_the_outer_one_however_late_it_is_told),
        CASE(without_more_than_half_of_the_blocked_time_there_is_no_loop),
        CASE(a_loop_that_waits_again_was_only_hanging),
        CASE(a_loop_that_the_thread_leaves_for_long_comes_into_doubt_and_falls),
        CASE(a_young_loop_stands_until_its_turn_is_twice_as_long_as_it_waited),
        CASE(many_sockets_one_after_the_other_from_one_place_are_no_loop),
        CASE(start_up_round_trips_to_another_place_do_not_become_the_loop),
        CASE(a_transfer_longer_than_all_waiting_is_busy_for_ten_seconds),
        CASE(a_transfer_in_a_proven_loop_is_busy_for_a_minute),
        CASE(a_shallower_wait_of_more_frames_was_inside_the_turn),
        CASE(a_blocking_call_met_before_the_loop_is_known_can_never_be_the_loop),
        CASE(a_shallower_wait_is_not_proven_to_be_inside_the_loops_turn),
        CASE(a_nested_wait_of_the_loop_proves_nothing_about_what_waited_outside_of_it),
        CASE(an_old_loop_is_succeeded_after_10_s_once_the_new_one_has_waited_longer),
        CASE(a_loop_that_is_gone_waits_for_others_at_its_place),
        CASE(one_connection_after_the_other_is_closed_and_is_no_loop),
        CASE(a_loop_that_is_gone_is_succeeded_by_one_that_is_not_inside_of_it),
        CASE(a_loop_that_returned_from_a_callback_succeeds_one_that_never_did_at_once),
        CASE(a_round_trip_in_a_callback_proves_as_well),
        CASE(sums_are_halved_each_minute_so_that_a_day_is_succeeded_in_minutes),
        CASE(a_wait_of_a_day_does_not_stall_the_halving),
        CASE(a_loop_that_sat_idle_for_long_is_not_outweighed_by_one_transfer),
        CASE(a_day_blocked_elsewhere_outweighs_the_first_waits_and_no_more),
        CASE(a_loop_that_came_back_is_sure_by_its_weight),
        CASE(a_loop_that_waits_again_after_10_s_is_sure),
        CASE(a_young_loop_is_not_sure_while_somebody_unknown_waits),
        CASE(a_loop_with_much_blocking_beside_it_is_not_sure_by_weight),
    };
    return cmocka_run_group_tests_name("rule_loop", tests, NULL, NULL);
}
