/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/store/choices.h"

#define FULL "whole\n!match\n!find_all\n!search\n!main\n"

static struct choices *none_yet(void) {
    struct choices *c = calloc(1, sizeof *c);
    assert_non_null(c);
    return c;
}

static void test_a_path_that_is_the_same_comes_before_one_that_lacks_functions(void **state) {
    (void)state;
    struct choices *c = none_yet();
    choices_add(c, FULL, "aaaa", "partial\n!search\n!main\n", 90);
    choices_add(c, FULL, "bbbb", FULL, 1);
    choices_add(c, FULL, "cccc", "whole\n!decode\n!main\n", 5);
    assert_int_equal(c->count, 1);
    assert_string_equal(choices_best(c)->fingerprint, "bbbb");
    free(c);
}

static void test_the_largest_of_nested_paths_is_taken(void **state) {
    (void)state;
    struct choices *c = none_yet();
    choices_add(c, "partial\n!search\n!main\n", "aaaa", "partial\n!match\n!search\n!main\n", 2);
    choices_add(c, "partial\n!search\n!main\n", "bbbb", "partial\n!match\n!find_all\n!search\n!main\n", 7);
    assert_int_equal(c->count, 2);
    assert_string_equal(choices_best(c)->fingerprint, "bbbb");
    free(c);
}

static void test_a_path_that_fits_two_bugs_is_of_neither(void **state) {
    (void)state;
    struct choices *c = none_yet();
    choices_add(c, "partial\n!open\n!main\n", "aaaa", "whole\n!verify\n!open\n!main\n", 2);
    choices_add(c, "partial\n!open\n!main\n", "bbbb", "whole\n!decode\n!open\n!main\n", 7);
    assert_int_equal(c->count, 2);
    assert_null(choices_best(c));
    free(c);
}

static void test_no_group_is_no_choice(void **state) {
    (void)state;
    struct choices *c = none_yet();
    assert_null(choices_best(c));
    free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_that_is_the_same_comes_before_one_that_lacks_functions),
        cmocka_unit_test(test_the_largest_of_nested_paths_is_taken),
        cmocka_unit_test(test_a_path_that_fits_two_bugs_is_of_neither),
        cmocka_unit_test(test_no_group_is_no_choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
