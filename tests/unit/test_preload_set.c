/* SPDX-License-Identifier: MIT
 *
 * Descriptor sets: sorted, each file once, the smallest of too many.
 */
#include "rule_by_hand.h"

#include "recognise/set.h"

static void files_are_sorted_and_each_is_there_once(void **state) {
    (void)state;
    struct hd_set s = set_of(5, 3, 5, 4);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.file[0], 3);
    assert_int_equal(s.file[2], 5);
}

static void of_too_many_the_smallest_stay(void **state) {
    (void)state;
    struct hd_set s = {.count = 0};
    for (uint64_t i = 40; i > 0; i--) {
        hd_set_add(&s, i);
    }
    assert_int_equal(s.count, HD_SET_FILES);
    assert_int_equal(s.file[0], 1);
    assert_int_equal(s.file[HD_SET_FILES - 1], HD_SET_FILES);
}

static void sets_are_compared_by_what_they_have_in_common(void **state) {
    (void)state;
    struct hd_set s = set_of(1, 2, 3, 0), part = set_of(1, 3, 0, 0), other = set_of(3, 4, 0, 0);
    struct hd_set none = {.count = 0}, apart = set_of(7, 0, 0, 0);
    assert_true(hd_set_includes(&s, &part));
    assert_false(hd_set_includes(&part, &s));
    assert_true(hd_set_share(&s, &other));
    assert_false(hd_set_share(&s, &apart));
    assert_true(hd_set_share(&s, &none));
    hd_set_intersect(&s, &other);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.file[0], 3);
}

static void one_epoll_instance_is_a_set_of_its_own_kind(void **state) {
    (void)state;
    struct hd_set epoll = set_of(EPOLL + 1, 0, 0, 0), two = set_of(EPOLL + 1, 2, 0, 0),
                  one = set_of(2, 0, 0, 0);
    assert_true(hd_set_is_epoll(&epoll));
    assert_false(hd_set_is_epoll(&two));
    assert_false(hd_set_is_epoll(&one));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_sorted_and_each_is_there_once),
        cmocka_unit_test(of_too_many_the_smallest_stay),
        cmocka_unit_test(sets_are_compared_by_what_they_have_in_common),
        cmocka_unit_test(one_epoll_instance_is_a_set_of_its_own_kind),
    };
    return cmocka_run_group_tests_name("set", tests, NULL, NULL);
}
