/* SPDX-License-Identifier: MIT
 *
 * What the worker is told of a thread's waits, and the rule by it, as long as no stack needs to be read: when
 * it is due, when a wait ended, which owner a place in the table has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "recognise.h"

#define MS HD_NS_PER_MS

static struct hd_monitor monitor;
static struct hd_worker worker = {.monitor = &monitor};
static struct hd_watch watch;
static struct hd_waits *waits;
static struct hd_recognition *g;
static struct hd_record record;

/* A thread, and one place of its, which waits by an epoll instance, and whose stack was read. */
static int start(void **state) {
    (void)state;
    memset(&watch, 0, sizeof watch);
    waits = waits != NULL ? waits : hd_waits_new();
    assert_non_null(waits);
    g = waits->recognition;
    memset(waits, 0, sizeof *waits);
    waits->recognition = g;
    waits->loop = &watch.loop;
    waits->watch = &watch;
    watch.loop.tid = getpid();
    watch.loop.ns_per_tick_32 = 1ULL << 32;
    hd_left_stacks_init(&waits->left);
    hd_recognition_init(g, &record, hd_os_now_ns());
    g->identity[0] =
        (struct hd_known_identity){.known = true, .objects.epoll = true, .seen.at = {.place = 1, .sp = 4096}};
    hd_set_add(&g->identity[0].seen.set, HD_OBJECT_EPOLL + 1);
    return 0;
}

static void told_at(uint64_t ticks) {
    while (hd_loop_ticks(&watch.loop) < ticks) {
        usleep(1000);
    }
    hd_recognise(waits, &worker);
}

/* Every second one late, so that a turn seems to lie before it. */
static void waits_back_to_back_are_no_long_turns_however_late_they_are_told(void **state) {
    (void)state;
    uint64_t now = hd_loop_ticks(&watch.loop);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t began = now, late = hd_loop_ticks(&watch.loop);
        now = began + 300 * MS > late ? began + 300 * MS
                                      : late; /* one wait ends after the one before was told */
        hd_wait_sum(waits, &waits->identity[0], began, now);
        told_at(now + i % 2 * 250 * MS);
    }
    assert_int_not_equal(g->rule.loop, HD_RULE_NONE);
    assert_false(hd_rule_returns(&g->rule));
    now += 600 * MS;
    hd_wait_sum(waits, &waits->identity[0], now - 300 * MS, now);
    told_at(now);
    assert_true(hd_rule_returns(&g->rule));
}

static void a_loop_that_is_not_sure_is_looked_at_also_while_nothing_waits(void **state) {
    (void)state;
    uint64_t now_ns = hd_os_now_ns();
    assert_true(hd_recognise_due(waits, now_ns)); /* what the thread had run before is read */
    hd_recognise(waits, &worker);
    assert_false(hd_recognise_due(waits, g->looked_ns + 20000 * MS)); /* there is no loop */
    waits->identity[0].waits = 5;
    waits->order = 6;
    hd_wait_sum(waits, &waits->identity[0], 1000 * MS, 1400 * MS);
    assert_true(hd_recognise_due(waits, g->looked_ns));
    hd_recognise(waits, &worker);
    assert_int_not_equal(g->rule.loop, HD_RULE_NONE);
    assert_false(hd_recognise_due(waits, g->looked_ns + 900 * MS));
    assert_true(hd_recognise_due(waits, g->looked_ns + 1000 * MS));
    watch.loop.sure = true;
    assert_false(hd_recognise_due(waits, g->looked_ns + 20000 * MS));
}

/* A signal handler jumped out of it once: its place was odd for ever, and no stack of it was taken. */
static void a_place_that_was_left_half_made_is_whole_when_it_is_made_again(void **state) {
    (void)state;
    const struct hd_wait_set set = {.epoll = 3};
    waits->identity[0].uses = 5;
    waits->seldom = true;
    hd_wait_left(waits);
    assert_false(waits->seldom);
    assert_ptr_equal(hd_waits_find(waits, 77, &set, 4096), &waits->identity[0]);
    assert_int_equal(waits->identity[0].uses, 6);
    assert_ptr_equal(hd_waits_find(waits, 77, &set, 4096), &waits->identity[0]);
    assert_int_equal(waits->identity[0].uses, 6);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        CASE(waits_back_to_back_are_no_long_turns_however_late_they_are_told),
        CASE(a_loop_that_is_not_sure_is_looked_at_also_while_nothing_waits),
        CASE(a_place_that_was_left_half_made_is_whole_when_it_is_made_again),
    };
    return cmocka_run_group_tests_name("told", tests, NULL, NULL);
}
