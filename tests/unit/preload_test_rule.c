/* SPDX-License-Identifier: MIT
 *
 * The rule that tells the loop's own wait, on waits made by hand. A wait is written as in a program: what it
 * waits for, where it stands on the stack, for how long. Its verdict is the one given while it lasts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rule.h"

#define MS HD_NS_PER_MS
#define EPOLL HD_OBJECT_EPOLL
#define MAIN_SP 0x7fff0000u /* of the loop's own place in most tests */

static bool sure_at(struct hd_rule_state *r, uint64_t now_ns) {
    hd_rule_tick(r, now_ns);
    return hd_rule_sure(r);
}

static struct hd_rule_state rule;
static uint64_t now_ns, order;

static int start(void **state) {
    (void)state;
    now_ns = HD_NS_PER_S;
    order = 0;
    hd_rule_init(&rule, now_ns);
    return 0;
}

/* Up to four objects; 0 is none. */
static struct hd_set set_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    struct hd_set s = {.count = 0};
    const uint64_t object[] = {a, b, c, d};
    for (unsigned i = 0; i < 4; i++) {
        if (object[i] != 0) {
            hd_set_add(&s, object[i]);
        }
    }
    return s;
}

static enum hd_verdict wait_seen(const struct hd_seen_wait *w, uint64_t ms) {
    uint32_t group = hd_rule_group_of(&rule, w);
    enum hd_verdict verdict = hd_rule_verdict(&rule, group);
    now_ns += ms * MS;
    hd_rule_waited(&rule, group, w, ms * MS, 1, ++order, now_ns);
    return verdict;
}

static enum hd_verdict wait_at(struct hd_set set, uint64_t place, uint64_t sp, uint64_t ms) {
    struct hd_seen_wait w = {.set = set, .place = place, .sp = sp};
    return wait_seen(&w, ms);
}

static enum hd_verdict wait_asking(struct hd_set set, uint64_t place, uint64_t sp, uint64_t ms) {
    struct hd_seen_wait w = {.set = set, .place = place, .sp = sp, .asks = true};
    return wait_seen(&w, ms);
}

#define LOOP_SET set_of(100, 200, 300, 0)
#define LOOP_PLACE 1u

static enum hd_verdict loop_waits(uint64_t ms) {
    return wait_at(LOOP_SET, LOOP_PLACE, MAIN_SP, ms);
}

/* A loop that has waited for as long, so that it is known. */
static void a_loop_of(uint64_t seconds) {
    for (uint64_t i = 0; i < 10; i++) {
        loop_waits(seconds * 100);
    }
    assert_int_equal(loop_waits(100), HD_VERDICT_IDLE);
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
    struct hd_seen_wait w = {.set = LOOP_SET, .place = LOOP_PLACE, .sp = MAIN_SP};
    uint32_t group = hd_rule_group_of(&rule, &w);
    hd_rule_waited(&rule, group, &w, 500 * MS, 40, 40, now_ns + 500 * MS);
    assert_int_equal(rule.loop, group);
}

/* A worker that comes late is told of the waits since by the last of each kind: the call's was before the
 * loop's. */
static void who_waited_first_is_the_outer_one_however_late_it_is_told(void **state) {
    (void)state;
    struct hd_seen_wait call = {.set = set_of(900, 0, 0, 0), .place = 9, .sp = MAIN_SP - 500, .first = 2000};
    struct hd_seen_wait loop = {.set = LOOP_SET, .place = LOOP_PLACE, .sp = MAIN_SP, .first = 1000};
    for (int i = 0; i < 10; i++) {
        wait_seen(&call, 300);
        wait_seen(&loop, 100);
    }
    assert_int_equal(wait_seen(&call, 300), HD_VERDICT_BUSY);
    assert_int_equal(wait_seen(&loop, 100), HD_VERDICT_IDLE);
}

static void without_more_than_half_of_the_blocked_time_there_is_no_loop(void **state) {
    (void)state;
    hd_rule_blocked(&rule, 2000 * MS); /* in a condition variable, as Tk does it */
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
    hd_rule_blocked(&rule, 10000 * MS);
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
    hd_rule_blocked(&rule, 10000 * MS);
    hd_rule_tick(&rule, now_ns);
    assert_false(hd_rule_stands(&rule));
    assert_int_equal(loop_waits(1), HD_VERDICT_IDLE);
    assert_true(hd_rule_stands(&rule));
    assert_int_equal(rule.changes, changes);
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

/* ---- whose wait it is ---------------------------------------------------------------------------- */

static void a_private_epoll_instance_in_a_callback_is_busy(void **state) {
    (void)state;
    struct hd_set own = set_of(EPOLL + 0x001, 0, 0, 0);
    for (int i = 0; i < 5; i++) {
        wait_at(own, 1, MAIN_SP, 100);
    }
    for (uint64_t i = 0; i < 20; i++) { /* spawnSync: an instance of its own each time */
        struct hd_set private = set_of(EPOLL + 0x002 + i, 0, 0, 0);
        assert_int_equal(wait_at(private, 2, MAIN_SP - 700, 300), HD_VERDICT_BUSY);
        assert_int_equal(wait_at(own, 1, MAIN_SP, 20), HD_VERDICT_IDLE);
    }
}

static void a_nested_loop_with_the_loops_set_is_idle(void **state) {
    (void)state;
    a_loop_of(1);
    struct hd_set dialog = set_of(100, 200, 300, 400);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(wait_at(dialog, 7, MAIN_SP - 2000, 1000), HD_VERDICT_IDLE);
    }
    assert_int_equal(loop_waits(100), HD_VERDICT_IDLE);
    assert_int_equal(wait_at(dialog, 7, MAIN_SP - 2000, 1000), HD_VERDICT_IDLE);
}

static void an_equal_place_of_a_nested_loop_does_not_make_a_blocking_call_idle(void **state) {
    (void)state;
    a_loop_of(1);
    struct hd_set private = set_of(900, 0, 0, 0);
    assert_int_equal(wait_at(LOOP_SET, 7, MAIN_SP - 2000, 500), HD_VERDICT_IDLE);
    assert_int_equal(wait_at(private, 7, MAIN_SP - 2000, 500), HD_VERDICT_BUSY);
    assert_int_equal(wait_at(LOOP_SET, 7, MAIN_SP - 2000, 500), HD_VERDICT_IDLE);
    assert_int_equal(wait_at(private, 7, MAIN_SP - 2000, 500), HD_VERDICT_BUSY);
}

static void one_of_the_loops_descriptors_alone_is_a_blocking_call(void **state) {
    (void)state;
    a_loop_of(1);
    for (int i = 0; i < 3; i++) { /* PQexec in a callback, on a connection that the loop also watches */
        assert_int_equal(wait_at(set_of(100, 0, 0, 0), 8, MAIN_SP - 900, 400), HD_VERDICT_BUSY);
        loop_waits(10);
    }
}

static void a_request_reply_wait_on_the_loops_own_descriptor_is_busy(void **state) {
    (void)state;
    struct hd_set x = set_of(100, 0, 0, 0);
    for (int i = 0; i < 5; i++) {
        wait_at(x, 1, MAIN_SP, 200); /* XNextEvent */
    }
    assert_int_equal(wait_at(x, 1, MAIN_SP, 200), HD_VERDICT_IDLE);
    assert_int_equal(wait_asking(x, 2, MAIN_SP - 300, 3000), HD_VERDICT_BUSY); /* XSync */
    assert_int_equal(wait_at(x, 1, MAIN_SP, 200), HD_VERDICT_IDLE);
}

static void a_request_reply_wait_without_a_loop_is_ignored(void **state) {
    (void)state;
    struct hd_set x = set_of(100, 0, 0, 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(wait_asking(x, 1, MAIN_SP, 500), HD_VERDICT_UNKNOWN);
    }
}

static void who_waits_for_nothing_sleeps(void **state) {
    (void)state;
    struct hd_set nothing = {.count = 0};
    for (int i = 0; i < 10; i++) { /* poll(NULL, 0, ms), an old way to sleep */
        assert_int_equal(wait_at(nothing, 1, MAIN_SP, 500), HD_VERDICT_UNKNOWN);
    }
    for (int i = 0; i < 49; i++) { /* what it slept weighs */
        assert_int_equal(loop_waits(100), HD_VERDICT_UNKNOWN);
    }
    loop_waits(200);
    assert_int_equal(loop_waits(100), HD_VERDICT_IDLE);
    assert_int_equal(wait_at(nothing, 8, MAIN_SP - 900, 500), HD_VERDICT_BUSY);
}

static void a_loop_that_waits_for_nothing_for_once_stays_the_loop(void **state) {
    (void)state;
    struct hd_set nothing = {.count = 0};
    a_loop_of(1);
    assert_int_equal(wait_at(nothing, LOOP_PLACE, MAIN_SP, 500), HD_VERDICT_IDLE);
    assert_int_equal(loop_waits(100), HD_VERDICT_IDLE);
    assert_int_equal(wait_at(LOOP_SET, 8, MAIN_SP - 900, 100),
                     HD_VERDICT_IDLE); /* nested: it is still that set */
    assert_int_equal(wait_at(set_of(700, 0, 0, 0), 8, MAIN_SP - 900, 100), HD_VERDICT_BUSY);
}

/* ---- sets and places move ------------------------------------------------------------------------ */

static void a_set_that_grows_stays_the_loops(void **state) {
    (void)state;
    struct hd_set set = set_of(100, 200, 300, 0);
    for (uint64_t i = 0; i < 12; i++) {
        hd_set_add(&set, 400 + i);
        assert_int_equal(wait_at(set, LOOP_PLACE, MAIN_SP, 200) == HD_VERDICT_IDLE, i >= 3);
    }
}

static void a_set_that_shrinks_at_its_own_place_stays_the_loops_and_is_known_nested_after(void **state) {
    (void)state;
    a_loop_of(1);
    struct hd_set less = set_of(100, 200, 0, 0);
    assert_int_equal(wait_at(less, LOOP_PLACE, MAIN_SP, 200), HD_VERDICT_IDLE);
    assert_int_equal(wait_at(less, 9, MAIN_SP - 2000, 200), HD_VERDICT_IDLE);
    assert_int_equal(wait_at(LOOP_SET, 9, MAIN_SP - 2000, 200), HD_VERDICT_IDLE);
}

static void a_blocking_call_on_what_a_moving_set_kept_is_busy(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 24; i++) {
        struct hd_set set = set_of(100, 200 + i / 6, 300 + i / 6, 0);
        assert_int_equal(wait_at(set, LOOP_PLACE, MAIN_SP, 100) == HD_VERDICT_IDLE, i >= 3);
        if (i % 6 == 5) {
            assert_int_equal(wait_at(set_of(100, 0, 0, 0), 8, MAIN_SP - 900, 100), HD_VERDICT_BUSY);
        }
    }
}

static void the_loops_own_place_outweighs_a_set_that_a_blocking_call_had_before(void **state) {
    (void)state;
    a_loop_of(1);
    wait_at(set_of(200, 0, 0, 0), 8, MAIN_SP - 900, 300);
    loop_waits(10);
    assert_int_equal(wait_at(set_of(200, 300, 400, 0), LOOP_PLACE, MAIN_SP, 100), HD_VERDICT_IDLE);
    assert_int_equal(wait_at(set_of(200, 0, 0, 0), 8, MAIN_SP - 900, 300), HD_VERDICT_BUSY);
}

static void an_epoll_instance_made_anew_at_the_loops_place_is_the_loops(void **state) {
    (void)state;
    for (uint64_t run = 1; run <= 3; run++) { /* asyncio.run, three times */
        for (int i = 0; i < 5; i++) {
            enum hd_verdict v = wait_at(set_of(EPOLL + 0x000 + run, 0, 0, 0), 1, MAIN_SP, 200);
            assert_int_equal(v == HD_VERDICT_IDLE, run > 1 || i >= 3);
            assert_int_not_equal(v, HD_VERDICT_BUSY);
        }
        /* and nested in it */
        assert_int_equal(wait_at(set_of(EPOLL + 0x000 + run, 0, 0, 0), 2, MAIN_SP - 800, 200),
                         HD_VERDICT_IDLE);
        assert_int_equal(wait_at(set_of(EPOLL + 0x100 + run, 0, 0, 0), 2, MAIN_SP - 800, 200),
                         HD_VERDICT_BUSY);
    }
}

static void a_place_that_moves_inwards_stays_the_loops(void **state) {
    (void)state;
    a_loop_of(1);
    assert_int_equal(wait_at(LOOP_SET, 3, MAIN_SP - 64, 200), HD_VERDICT_IDLE); /* specialised since */
    assert_int_equal(wait_at(LOOP_SET, 3, MAIN_SP - 64, 200), HD_VERDICT_IDLE);
}

static void a_loop_first_seen_inside_a_nested_loop_gets_its_outermost_place(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        wait_at(LOOP_SET, 7, MAIN_SP - 2000, 200);
    }
    uint32_t loop = rule.loop;
    assert_int_equal(rule.group[loop].place, 7);
    assert_int_equal(loop_waits(200), HD_VERDICT_IDLE);
    assert_int_equal(rule.group[loop].place, LOOP_PLACE);
    assert_int_equal(wait_at(LOOP_SET, 7, MAIN_SP - 2000, 200), HD_VERDICT_IDLE);
    assert_int_equal(rule.group[loop].place, LOOP_PLACE);
}

/* Alternating waits within one turn: the display's socket in the dispatch, 0 ms (weston's own toolkit). */
static void short_waits_between_the_loops_do_not_matter(void **state) {
    (void)state;
    for (int i = 0; i < 30; i++) {
        enum hd_verdict v = wait_at(set_of(EPOLL + 0x001, 0, 0, 0), 1, MAIN_SP, 16);
        assert_int_equal(v == HD_VERDICT_IDLE, i > 6);
        wait_at(set_of(77, 0, 0, 0), 2, MAIN_SP - 400, 0);
    }
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
    struct hd_seen_wait own = {.set = LOOP_SET, .place = 1, .sp = MAIN_SP - 12000, .depth = 5};
    struct hd_seen_wait call = {.set = set_of(900, 0, 0, 0), .place = 2, .sp = MAIN_SP - 300, .depth = 7};
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
    assert_int_equal(loop_waits(1), HD_VERDICT_IDLE);
    assert_true(now_ns - rule.halved_ns < 60 * HD_NS_PER_S);
}

/* ---- sure ---------------------------------------------------------------------------------------- */

/* Once it has come back from a turn that was long: it may be over when it blocks for the first time. */
static void a_loop_that_came_back_is_sure_by_its_weight(void **state) {
    (void)state;
    assert_false(sure_at(&rule, now_ns));
    hd_rule_blocked(&rule, 90 * MS);
    for (int i = 0; i < 4; i++) {
        loop_waits(100);
    }
    assert_false(sure_at(&rule, now_ns));
    assert_false(sure_at(&rule, now_ns + 10 * HD_NS_PER_S)); /* it may never wait again */
    for (int i = 0; i < 7; i++) {
        now_ns += 150 * MS;
        loop_waits(100);
    }
    assert_false(sure_at(&rule, now_ns));
    now_ns += 250 * MS;
    loop_waits(100);
    assert_true(sure_at(&rule, now_ns));
}

static void a_loop_that_waits_again_after_10_s_is_sure(void **state) {
    (void)state;
    hd_rule_blocked(&rule, 200 * MS);
    for (int i = 0; i < 4; i++) {
        loop_waits(100);
    }
    now_ns += 10 * HD_NS_PER_S;
    assert_false(sure_at(&rule, now_ns));
    loop_waits(1);
    assert_true(hd_rule_sure(&rule));
}

/* Which of the two is the loop is told by the return. Later it has been told. */
static void a_young_loop_is_not_sure_while_somebody_unknown_waits(void **state) {
    (void)state;
    struct hd_seen_wait call = {.set = set_of(900, 0, 0, 0), .place = 8, .sp = MAIN_SP - 900};
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
    hd_rule_blocked(&rule, 500 * MS);
    for (int i = 0; i < 20; i++) {
        loop_waits(100);
    }
    assert_int_equal(loop_waits(100), HD_VERDICT_IDLE);
    assert_false(sure_at(&rule, now_ns));
}

/* ---- room ---------------------------------------------------------------------------------------- */

static void more_groups_than_there_is_room_for_leave_the_loop_alone(void **state) {
    (void)state;
    a_loop_of(1);
    for (uint64_t i = 0; i < 5 * HD_RULE_GROUPS; i++) {
        assert_int_equal(wait_at(set_of(5000 + i, 0, 0, 0), 100 + i, MAIN_SP - 900, 60), HD_VERDICT_BUSY);
        if (i % 10 == 9) {
            assert_int_equal(loop_waits(1000), HD_VERDICT_IDLE);
        }
    }
}

/* Waits whose groups had to make room still count as time that the thread was blocked. */
static void what_made_room_still_weighs_against_the_loop(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 4 * HD_RULE_GROUPS; i++) {
        wait_at(set_of(5000 + i, 0, 0, 0), 100 + i, MAIN_SP - 900, 60);
    }
    for (int i = 0; i < 30; i++) { /* 3 s of more than 7.6 */
        assert_int_equal(loop_waits(100), HD_VERDICT_UNKNOWN);
    }
}

static void a_set_keeps_the_smallest_sixteen_sorted_each_once(void **state) {
    (void)state;
    struct hd_set s = {.count = 0};
    for (uint64_t i = 40; i > 0; i--) {
        hd_set_add(&s, i);
        hd_set_add(&s, i);
    }
    assert_int_equal(s.count, HD_SET_OBJECTS);
    for (uint32_t i = 0; i < s.count; i++) {
        assert_int_equal(s.object[i], i + 1);
    }
    hd_set_add(&s, 99);
    assert_int_equal(s.count, HD_SET_OBJECTS);
    assert_int_equal(s.object[HD_SET_OBJECTS - 1], HD_SET_OBJECTS);
}

static void a_wait_for_nothing_is_known_by_its_place_alone(void **state) {
    (void)state;
    struct hd_set none = {.count = 0};
    a_loop_of(1);
    assert_int_equal(wait_at(none, 30, MAIN_SP - 500, 100), HD_VERDICT_BUSY); /* poll as a sleep */
    assert_int_equal(wait_at(none, 31, MAIN_SP - 600, 100), HD_VERDICT_BUSY);
    assert_int_equal(loop_waits(100), HD_VERDICT_IDLE);
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
        CASE(many_sockets_one_after_the_other_from_one_place_are_no_loop),
        CASE(start_up_round_trips_to_another_place_do_not_become_the_loop),
        CASE(a_private_epoll_instance_in_a_callback_is_busy),
        CASE(a_nested_loop_with_the_loops_set_is_idle),
        CASE(an_equal_place_of_a_nested_loop_does_not_make_a_blocking_call_idle),
        CASE(one_of_the_loops_descriptors_alone_is_a_blocking_call),
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
        CASE(a_transfer_longer_than_all_waiting_is_busy_for_ten_seconds),
        CASE(a_transfer_in_a_proven_loop_is_busy_for_a_minute),
        CASE(a_shallower_wait_of_more_frames_was_inside_the_turn),
        CASE(a_blocking_call_met_before_the_loop_is_known_can_never_be_the_loop),
        CASE(a_shallower_wait_is_not_proven_to_be_inside_the_loops_turn),
        CASE(a_nested_wait_of_the_loop_proves_nothing_about_what_waited_outside_of_it),
        CASE(an_old_loop_is_succeeded_after_10_s_once_the_new_one_has_waited_longer),
        CASE(a_loop_that_returned_from_a_callback_succeeds_one_that_never_did_at_once),
        CASE(a_round_trip_in_a_callback_proves_as_well),
        CASE(sums_are_halved_each_minute_so_that_a_day_is_succeeded_in_minutes),
        CASE(a_wait_of_a_day_does_not_stall_the_halving),
        CASE(a_loop_that_came_back_is_sure_by_its_weight),
        CASE(a_loop_that_waits_again_after_10_s_is_sure),
        CASE(a_young_loop_is_not_sure_while_somebody_unknown_waits),
        CASE(a_loop_with_much_blocking_beside_it_is_not_sure_by_weight),
        CASE(more_groups_than_there_is_room_for_leave_the_loop_alone),
        CASE(what_made_room_still_weighs_against_the_loop),
        CASE(a_set_keeps_the_smallest_sixteen_sorted_each_once),
        CASE(a_wait_for_nothing_is_known_by_its_place_alone),
    };
    return cmocka_run_group_tests_name("rule", tests, NULL, NULL);
}
