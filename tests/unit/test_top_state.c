/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/live/top_state.h"

#define COUNT 4

static void fill(struct top_thread threads[COUNT]) {
    static const struct top_thread all[COUNT] = {{.tid = 40, .name = "worker", .cpu_percent = 0.2},
                                                 {.tid = 10, .name = "main", .cpu_percent = 3.1},
                                                 {.tid = 30, .name = "flusher", .cpu_percent = -1},
                                                 {.tid = 20, .name = "worker", .cpu_percent = 97}};
    for (size_t i = 0; i < COUNT; i++) {
        threads[i] = all[i];
    }
}

static void assert_order(enum top_order order, int a, int b, int c, int d) {
    struct top_thread threads[COUNT];
    const int want[COUNT] = {a, b, c, d};
    fill(threads);
    top_state_sort(threads, COUNT, order);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(threads[i].tid, want[i]);
    }
}

static void threads_stand_in_the_selected_order(void **state) {
    (void)state;
    assert_order(TOP_BY_CPU, 20, 10, 30, 40); /* the two at 0 % by their numbers */
    assert_order(TOP_BY_NUMBER, 10, 20, 30, 40);
    assert_order(TOP_BY_NAME, 30, 10, 20, 40);
}

static void the_main_thread_is_selected_first_and_after_an_end(void **state) {
    struct top_thread threads[COUNT];
    struct top_state s = {0};
    (void)state;
    fill(threads);
    assert_int_equal(top_state_selected(&s, threads, COUNT, 10), 1);
    assert_int_equal(s.tid, 10);
    s.tid = 20;
    assert_int_equal(top_state_selected(&s, threads, COUNT, 10), 3);
    assert_int_equal(top_state_selected(&s, threads, COUNT - 1, 10), 1); /* 20 has ended */
    s.tid = 99;
    assert_int_equal(top_state_selected(&s, threads, 1, 10), 0); /* so has the main thread */
    assert_int_equal(s.tid, 40);
    assert_int_equal(top_state_selected(&s, threads, 0, 10), 0);
    assert_int_equal(s.tid, 0);
}

static void up_and_down_stop_at_the_ends(void **state) {
    struct top_thread threads[COUNT];
    struct top_state s = {.tid = 10, .scrolled = 3};
    (void)state;
    fill(threads);
    top_state_press(&s, TOP_KEY_UP, threads, COUNT);
    assert_int_equal(s.tid, 40);
    assert_int_equal(s.scrolled, 0);
    top_state_press(&s, TOP_KEY_UP, threads, COUNT);
    assert_int_equal(s.tid, 40);
    for (size_t i = 0; i < COUNT + 1; i++) {
        top_state_press(&s, TOP_KEY_DOWN, threads, COUNT);
    }
    assert_int_equal(s.tid, 20);
    top_state_press(&s, TOP_KEY_DOWN, threads, 0); /* no thread is there */
    assert_int_equal(s.tid, 20);
}

static void each_key_does_what_it_says(void **state) {
    struct top_state s = {0};
    (void)state;
    top_state_press(&s, TOP_KEY_NONE, NULL, 0);
    top_state_press(&s, TOP_KEY_SORT, NULL, 0);
    assert_int_equal(s.order, TOP_BY_NUMBER);
    top_state_press(&s, TOP_KEY_SORT, NULL, 0);
    top_state_press(&s, TOP_KEY_SORT, NULL, 0);
    assert_int_equal(s.order, TOP_BY_CPU);
    top_state_press(&s, TOP_KEY_PAUSE, NULL, 0);
    assert_true(s.paused);
    top_state_press(&s, TOP_KEY_PAUSE, NULL, 0);
    assert_false(s.paused);
    top_state_press(&s, TOP_KEY_PAGE_DOWN, NULL, 0);
    top_state_press(&s, TOP_KEY_PAGE_DOWN, NULL, 0);
    assert_int_equal(s.scrolled, 10);
    top_state_press(&s, TOP_KEY_PAGE_UP, NULL, 0);
    assert_int_equal(s.scrolled, 5);
    top_state_press(&s, TOP_KEY_EXPAND, NULL, 0);
    assert_true(s.all_frames);
    assert_int_equal(s.scrolled, 0);
    top_state_press(&s, TOP_KEY_PAGE_UP, NULL, 0);
    assert_int_equal(s.scrolled, 0);
    assert_false(s.quit);
    top_state_press(&s, TOP_KEY_DUMP, NULL, 0);
    assert_true(s.quit && s.dump);
}

static void any_key_leaves_the_help_and_does_no_more(void **state) {
    struct top_state s = {0};
    (void)state;
    top_state_press(&s, TOP_KEY_HELP, NULL, 0);
    assert_true(s.help);
    top_state_press(&s, TOP_KEY_NONE, NULL, 0);
    assert_true(s.help);
    top_state_press(&s, TOP_KEY_PAUSE, NULL, 0);
    assert_false(s.help || s.paused);
    top_state_press(&s, TOP_KEY_OTHER, NULL, 0);
    assert_false(s.help);
    top_state_press(&s, TOP_KEY_HELP, NULL, 0);
    top_state_press(&s, TOP_KEY_OTHER, NULL, 0);
    assert_false(s.help);
    top_state_press(&s, TOP_KEY_HELP, NULL, 0);
    top_state_press(&s, TOP_KEY_QUIT, NULL, 0);
    assert_true(s.quit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_stand_in_the_selected_order),
        cmocka_unit_test(the_main_thread_is_selected_first_and_after_an_end),
        cmocka_unit_test(up_and_down_stop_at_the_ends),
        cmocka_unit_test(each_key_does_what_it_says),
        cmocka_unit_test(any_key_leaves_the_help_and_does_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
