/* SPDX-License-Identifier: MIT
 *
 * The rule, on waits made by hand: whose wait a wait is once there is a loop, while sets and places move.
 */
#include "rule_by_hand.h"

/* ---- whose wait it is ---------------------------------------------------------------------------- */

static void a_private_epoll_instance_in_a_callback_is_busy(void **state) {
    (void)state;
    struct hd_set own = set_of(EPOLL + 0x001, 0, 0, 0);
    for (int i = 0; i < 5; i++) {
        wait_at(own, 1, MAIN_SP, 100);
    }
    for (uint64_t i = 0; i < 20; i++) { /* spawnSync: an instance of its own each time */
        struct hd_set private = set_of(EPOLL + 0x002 + i, 0, 0, 0);
        assert_int_equal(wait_at(private, 2, MAIN_SP - 700, 300), HD_WAIT_BUSY);
        assert_int_equal(wait_at(own, 1, MAIN_SP, 20), HD_WAIT_IDLE);
    }
}

static void a_nested_loop_with_the_loops_set_is_idle(void **state) {
    (void)state;
    a_loop_of(1);
    struct hd_set dialog = set_of(100, 200, 300, 400);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(wait_at(dialog, 7, MAIN_SP - 2000, 1000), HD_WAIT_IDLE);
    }
    assert_int_equal(loop_waits(100), HD_WAIT_IDLE);
    assert_int_equal(wait_at(dialog, 7, MAIN_SP - 2000, 1000), HD_WAIT_IDLE);
}

static void an_equal_place_of_a_nested_loop_does_not_make_a_blocking_call_idle(void **state) {
    (void)state;
    a_loop_of(1);
    struct hd_set private = set_of(900, 0, 0, 0);
    assert_int_equal(wait_at(LOOP_SET, 7, MAIN_SP - 2000, 500), HD_WAIT_IDLE);
    assert_int_equal(wait_at(private, 7, MAIN_SP - 2000, 500), HD_WAIT_BUSY);
    assert_int_equal(wait_at(LOOP_SET, 7, MAIN_SP - 2000, 500), HD_WAIT_IDLE);
    assert_int_equal(wait_at(private, 7, MAIN_SP - 2000, 500), HD_WAIT_BUSY);
}

static void a_wait_for_one_of_the_loops_descriptors_is_a_blocking_call(void **state) {
    (void)state;
    a_loop_of(1);
    for (int i = 0; i < 3; i++) { /* PQexec in a callback, on a connection that the loop also watches */
        assert_int_equal(wait_at(set_of(100, 0, 0, 0), 8, MAIN_SP - 900, 400), HD_WAIT_BUSY);
        loop_waits(10);
    }
}

/* An editor that waits for the terminal alone, till a command waits for a process and leaves that running. */
static void who_waits_for_all_of_the_loops_serves_it_whatever_else_it_waits_for(void **state) {
    (void)state;
    struct hd_set terminal = set_of(100, 0, 0, 0), process = set_of(200, 300, 0, 0);
    for (int i = 0; i < 10; i++) {
        wait_at(terminal, LOOP_PLACE, MAIN_SP, 500);
    }
    assert_int_equal(wait_at(process, 8, MAIN_SP - 900, 1600), HD_WAIT_BUSY);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wait_at(set_of(100, 200, 300, 0), 2, MAIN_SP - 32, 1000), HD_WAIT_IDLE);
        assert_int_equal(wait_at(process, 8, MAIN_SP - 900, 300), HD_WAIT_BUSY);
    }
}

static void a_request_reply_wait_on_the_loops_own_descriptor_is_busy(void **state) {
    (void)state;
    struct hd_set x = set_of(100, 0, 0, 0);
    for (int i = 0; i < 5; i++) {
        wait_at(x, 1, MAIN_SP, 200); /* XNextEvent */
    }
    assert_int_equal(wait_at(x, 1, MAIN_SP, 200), HD_WAIT_IDLE);
    assert_int_equal(wait_asking(x, 2, MAIN_SP - 300, 3000), HD_WAIT_BUSY); /* XSync */
    assert_int_equal(wait_at(x, 1, MAIN_SP, 200), HD_WAIT_IDLE);
}

static void a_request_reply_wait_without_a_loop_is_ignored(void **state) {
    (void)state;
    struct hd_set x = set_of(100, 0, 0, 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(wait_asking(x, 1, MAIN_SP, 500), HD_WAIT_UNKNOWN);
    }
}

static void who_waits_for_nothing_sleeps(void **state) {
    (void)state;
    struct hd_set nothing = {.count = 0};
    for (int i = 0; i < 10; i++) { /* poll(NULL, 0, ms), an old way to sleep */
        assert_int_equal(wait_at(nothing, 1, MAIN_SP, 500), HD_WAIT_UNKNOWN);
    }
    a_loop_of(1);
    assert_int_equal(wait_at(nothing, 8, MAIN_SP - 900, 500), HD_WAIT_BUSY);
}

static void a_loop_that_waits_for_nothing_for_once_stays_the_loop(void **state) {
    (void)state;
    struct hd_set nothing = {.count = 0};
    a_loop_of(1);
    assert_int_equal(wait_at(nothing, LOOP_PLACE, MAIN_SP, 500), HD_WAIT_IDLE);
    assert_int_equal(loop_waits(100), HD_WAIT_IDLE);
    assert_int_equal(wait_at(LOOP_SET, 8, MAIN_SP - 900, 100),
                     HD_WAIT_IDLE); /* nested: it is still that set */
    assert_int_equal(wait_at(set_of(700, 0, 0, 0), 8, MAIN_SP - 900, 100), HD_WAIT_BUSY);
}

/* ---- sets and places move ------------------------------------------------------------------------ */

static void a_set_that_grows_stays_the_loops(void **state) {
    (void)state;
    struct hd_set set = set_of(100, 200, 300, 0);
    for (uint64_t i = 0; i < 12; i++) {
        hd_set_add(&set, 400 + i);
        assert_int_equal(wait_at(set, LOOP_PLACE, MAIN_SP, 200) == HD_WAIT_IDLE, i >= 3);
    }
}

static void a_set_that_shrinks_at_its_own_place_stays_the_loops_and_is_known_nested_after(void **state) {
    (void)state;
    a_loop_of(1);
    struct hd_set less = set_of(100, 200, 0, 0);
    assert_int_equal(wait_at(less, LOOP_PLACE, MAIN_SP, 200), HD_WAIT_IDLE);
    assert_int_equal(wait_at(less, 9, MAIN_SP - 2000, 200), HD_WAIT_IDLE);
    assert_int_equal(wait_at(LOOP_SET, 9, MAIN_SP - 2000, 200), HD_WAIT_IDLE);
}

static void a_blocking_call_on_what_a_moving_set_kept_is_busy(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 24; i++) {
        struct hd_set set = set_of(100, 200 + i / 6, 300 + i / 6, 0);
        assert_int_equal(wait_at(set, LOOP_PLACE, MAIN_SP, 100) == HD_WAIT_IDLE, i >= 3);
        if (i % 6 == 5) {
            assert_int_equal(wait_at(set_of(100, 0, 0, 0), 8, MAIN_SP - 900, 100), HD_WAIT_BUSY);
        }
    }
}

static void the_loops_own_place_outweighs_a_set_that_a_blocking_call_had_before(void **state) {
    (void)state;
    a_loop_of(1);
    wait_at(set_of(200, 0, 0, 0), 8, MAIN_SP - 900, 300);
    loop_waits(10);
    assert_int_equal(wait_at(set_of(200, 300, 400, 0), LOOP_PLACE, MAIN_SP, 100), HD_WAIT_IDLE);
    assert_int_equal(wait_at(set_of(200, 0, 0, 0), 8, MAIN_SP - 900, 300), HD_WAIT_BUSY);
}

static void an_epoll_instance_made_anew_at_the_loops_place_is_the_loops(void **state) {
    (void)state;
    for (uint64_t run = 1; run <= 3; run++) { /* asyncio.run, three times */
        for (int i = 0; i < 5; i++) {
            enum hd_wait_verdict v = wait_at(set_of(EPOLL + 0x000 + run, 0, 0, 0), 1, MAIN_SP, 200);
            assert_int_equal(v == HD_WAIT_IDLE, run > 1 || i >= 3);
            assert_int_not_equal(v, HD_WAIT_BUSY);
        }
        /* and nested in it */
        assert_int_equal(wait_at(set_of(EPOLL + 0x000 + run, 0, 0, 0), 2, MAIN_SP - 800, 200), HD_WAIT_IDLE);
        assert_int_equal(wait_at(set_of(EPOLL + 0x100 + run, 0, 0, 0), 2, MAIN_SP - 800, 200), HD_WAIT_BUSY);
    }
}

static void a_place_that_moves_inwards_stays_the_loops(void **state) {
    (void)state;
    a_loop_of(1);
    assert_int_equal(wait_at(LOOP_SET, 3, MAIN_SP - 64, 200), HD_WAIT_IDLE); /* specialised since */
    assert_int_equal(wait_at(LOOP_SET, 3, MAIN_SP - 64, 200), HD_WAIT_IDLE);
}

static void a_loop_first_seen_inside_a_nested_loop_gets_its_outermost_place(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        wait_at(LOOP_SET, 7, MAIN_SP - 2000, 200);
    }
    uint32_t loop = rule.loop;
    assert_int_equal(rule.group[loop].sites.own.stack_hash, 7);
    assert_int_equal(loop_waits(200), HD_WAIT_IDLE);
    assert_int_equal(rule.group[loop].sites.own.stack_hash, LOOP_PLACE);
    assert_int_equal(wait_at(LOOP_SET, 7, MAIN_SP - 2000, 200), HD_WAIT_IDLE);
    assert_int_equal(rule.group[loop].sites.own.stack_hash, LOOP_PLACE);
}

/* Alternating waits within one turn: the display's socket in the dispatch, 0 ms (weston's own toolkit). */
static void short_waits_between_the_loops_do_not_matter(void **state) {
    (void)state;
    for (int i = 0; i < 30; i++) {
        enum hd_wait_verdict v = wait_at(set_of(EPOLL + 0x001, 0, 0, 0), 1, MAIN_SP, 16);
        assert_int_equal(v == HD_WAIT_IDLE, i > 6);
        wait_at(set_of(77, 0, 0, 0), 2, MAIN_SP - 400, 0);
    }
}

/* ---- room ---------------------------------------------------------------------------------------- */

static void too_many_groups_do_not_replace_the_loop(void **state) {
    (void)state;
    a_loop_of(1);
    for (uint64_t i = 0; i < 5 * HD_RULE_GROUPS; i++) {
        assert_int_equal(wait_at(set_of(5000 + i, 0, 0, 0), 100 + i, MAIN_SP - 900, 60), HD_WAIT_BUSY);
        if (i % 10 == 9) {
            assert_int_equal(loop_waits(1000), HD_WAIT_IDLE);
        }
    }
}

static void a_set_keeps_the_smallest_sixteen_sorted_each_once(void **state) {
    (void)state;
    struct hd_set s = {.count = 0};
    for (uint64_t i = 40; i > 0; i--) {
        hd_set_add(&s, i);
        hd_set_add(&s, i);
    }
    assert_int_equal(s.count, HD_SET_FILES);
    for (uint32_t i = 0; i < s.count; i++) {
        assert_int_equal(s.file[i], i + 1);
    }
    hd_set_add(&s, 99);
    assert_int_equal(s.count, HD_SET_FILES);
    assert_int_equal(s.file[HD_SET_FILES - 1], HD_SET_FILES);
}

static void knows_a_wait_for_nothing_by_its_call_site(void **state) {
    (void)state;
    struct hd_set none = {.count = 0};
    a_loop_of(1);
    assert_int_equal(wait_at(none, 30, MAIN_SP - 500, 100), HD_WAIT_BUSY); /* poll as a sleep */
    assert_int_equal(wait_at(none, 31, MAIN_SP - 600, 100), HD_WAIT_BUSY);
    assert_int_equal(loop_waits(100), HD_WAIT_IDLE);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        CASE(a_private_epoll_instance_in_a_callback_is_busy),
        CASE(a_nested_loop_with_the_loops_set_is_idle),
        CASE(an_equal_place_of_a_nested_loop_does_not_make_a_blocking_call_idle),
        CASE(a_wait_for_one_of_the_loops_descriptors_is_a_blocking_call),
        CASE(who_waits_for_all_of_the_loops_serves_it_whatever_else_it_waits_for),
        CASE(a_request_reply_wait_on_the_loops_own_descriptor_is_busy),
        CASE(a_request_reply_wait_without_a_loop_is_ignored),
        CASE(who_waits_for_nothing_sleeps),
        CASE(a_loop_that_waits_for_nothing_for_once_stays_the_loop),
        CASE(a_set_that_grows_stays_the_loops),
        CASE(a_set_that_shrinks_at_its_own_place_stays_the_loops_and_is_known_nested_after),
        CASE(a_blocking_call_on_what_a_moving_set_kept_is_busy),
        CASE(the_loops_own_place_outweighs_a_set_that_a_blocking_call_had_before),
        CASE(an_epoll_instance_made_anew_at_the_loops_place_is_the_loops),
        CASE(a_place_that_moves_inwards_stays_the_loops),
        CASE(a_loop_first_seen_inside_a_nested_loop_gets_its_outermost_place),
        CASE(short_waits_between_the_loops_do_not_matter),
        CASE(too_many_groups_do_not_replace_the_loop),
        CASE(a_set_keeps_the_smallest_sixteen_sorted_each_once),
        CASE(knows_a_wait_for_nothing_by_its_call_site),
    };
    return cmocka_run_group_tests_name("rule_waits", tests, NULL, NULL);
}
