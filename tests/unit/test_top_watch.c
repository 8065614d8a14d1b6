/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/live/top_watch.h"

#define S HD_NS_PER_S

static void note(struct top_watch *w, struct run_hangs now, const char *function) {
    top_watch_note(w, &now, function, "12:00:00");
    w->is_watched = true;
}

static const struct top_hang *newest(const struct top_watch *w) {
    return &w->hang[(w->hangs - 1) % TOP_HANGS];
}

static void hangs_of_before_are_only_counted(void **state) {
    struct top_watch w = {0};
    (void)state;
    note(&w, (struct run_hangs){.count = 7, .lost_ns = 9 * S}, NULL);
    assert_int_equal(w.hangs, 0);
}

static void a_hang_is_followed_to_its_end(void **state) {
    struct top_watch w = {0};
    (void)state;
    note(&w, (struct run_hangs){.count = 1, .lost_ns = S}, NULL);
    note(&w, (struct run_hangs){.count = 1, .lost_ns = S, .lasts = true, .since_ns = 50, .for_ns = S},
         "lookup");
    note(&w, (struct run_hangs){.count = 1, .lost_ns = S, .lasts = true, .since_ns = 50, .for_ns = 2 * S},
         NULL);
    assert_int_equal(w.hangs, 1);
    assert_true(newest(&w)->lasts);
    assert_int_equal(newest(&w)->for_ns, 2 * S);
    assert_string_equal(newest(&w)->function, "lookup");
    note(&w, (struct run_hangs){.count = 2, .lost_ns = S + 5 * S / 2}, NULL);
    assert_int_equal(w.hangs, 1);
    assert_false(newest(&w)->lasts);
    assert_int_equal(newest(&w)->for_ns, 5 * S / 2); /* to its end, by the sum */
}

static void one_between_two_looks_has_no_function(void **state) {
    struct top_watch w = {0};
    (void)state;
    note(&w, (struct run_hangs){0}, NULL);
    note(&w, (struct run_hangs){.count = 1, .lost_ns = S}, "idle");
    assert_int_equal(w.hangs, 1);
    assert_int_equal(newest(&w)->for_ns, S);
    assert_string_equal(newest(&w)->function, "");
}

static void the_next_hang_begins_where_one_has_ended(void **state) {
    struct top_watch w = {0};
    (void)state;
    note(&w, (struct run_hangs){.lasts = true, .since_ns = 50, .for_ns = S}, "first");
    note(&w, (struct run_hangs){.count = 1, .lost_ns = 2 * S, .lasts = true, .since_ns = 90, .for_ns = S},
         "second");
    assert_int_equal(w.hangs, 2);
    assert_string_equal(w.hang[0].function, "first");
    assert_false(w.hang[0].lasts);
    assert_int_equal(w.hang[0].for_ns, 2 * S);
    assert_string_equal(newest(&w)->function, "second");
    assert_true(newest(&w)->lasts);
}

static void counters_that_go_back_are_no_hang(void **state) {
    struct top_watch w = {0};
    (void)state;
    note(&w, (struct run_hangs){.count = INT64_MAX, .lost_ns = INT64_MAX}, NULL);
    note(&w, (struct run_hangs){0}, NULL);
    assert_int_equal(w.hangs, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hangs_of_before_are_only_counted),
        cmocka_unit_test(a_hang_is_followed_to_its_end),
        cmocka_unit_test(one_between_two_looks_has_no_function),
        cmocka_unit_test(the_next_hang_begins_where_one_has_ended),
        cmocka_unit_test(counters_that_go_back_are_no_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
