/* SPDX-License-Identifier: MIT
 *
 * How many reports of one bug a key may send in a minute, at times that the test gives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

#include "collector/keys/group_limit.h"

#define SECOND INT64_C(1000000000)
#define START (1000 * SECOND)

static struct group_limit *g;

static int set_up(void **state) {
    (void)state;
    g = group_limit_new();
    return g != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    group_limit_free(g);
    return 0;
}

static void a_minutes_worth_comes_at_once_and_no_more(void **state) {
    (void)state;
    for (int i = 0; i < 60; i++) {
        assert_int_equal(group_limit_take(g, 1, "bug", 60, START), 0);
    }
    assert_in_range(group_limit_take(g, 1, "bug", 60, START), 1, 2);
    assert_int_equal(group_limit_take(g, 1, "bug", 60, START + SECOND / 2), 1);
    assert_int_equal(group_limit_take(g, 1, "bug", 60, START + SECOND + 1000), 0); /* one a second then */
    assert_in_range(group_limit_take(g, 1, "bug", 60, START + SECOND + 2000), 1, 2);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(group_limit_take(g, 1, "bug", 60, START + 3600 * SECOND), 0);
    }
    assert_true(group_limit_take(g, 1, "bug", 60, START + 3600 * SECOND) > 0); /* an hour saves no more */
}

static void the_wait_that_it_names_is_long_enough(void **state) {
    (void)state;
    static const long limits[] = {1, 2, 7, 100, 6000};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        char name[16];
        int64_t now = START;
        snprintf(name, sizeof name, "bug-%zu", i);
        for (long k = 0; k < limits[i]; k++) {
            assert_int_equal(group_limit_take(g, 1, name, limits[i], now), 0);
        }
        for (int k = 0; k < 5; k++) {
            long wait = group_limit_take(g, 1, name, limits[i], now);
            assert_in_range(wait, 1, 61);
            now += wait * SECOND;
            assert_int_equal(group_limit_take(g, 1, name, limits[i], now), 0);
            while (group_limit_take(g, 1, name, limits[i], now) == 0) {
            }
        }
    }
}

static void other_bugs_and_other_keys_have_their_own(void **state) {
    (void)state;
    assert_int_equal(group_limit_take(g, 1, "bug", 1, START), 0);
    assert_true(group_limit_take(g, 1, "bug", 1, START) > 0);
    assert_int_equal(group_limit_take(g, 2, "bug", 1, START), 0);
    assert_int_equal(group_limit_take(g, 1, "bug2", 1, START), 0);
    assert_int_equal(group_limit_take(g, 1, "", 1, START), 0);
    assert_true(group_limit_take(g, 1, "bug", 1, START + SECOND) > 0);
}

static void none_is_no_limit(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(group_limit_take(g, 1, "bug", 0, START), 0);
        assert_int_equal(group_limit_take(g, 1, "bug", -1, START), 0);
    }
}

/* More groups than it remembers: memory stays, and a busy one among them is still limited. */
static void a_flood_of_groups_does_not_free_a_busy_one(void **state) {
    (void)state;
    unsigned let_through = 0;
    for (int i = 0; i < 100000; i++) {
        char name[24];
        int64_t now = START + i * 1000;
        snprintf(name, sizeof name, "%016x", i * 2654435761U);
        group_limit_take(g, 1, name, 5, now);
        let_through += group_limit_take(g, 1, "busy", 5, now) == 0;
    }
    assert_in_range(let_through, 5, 6);
}

#define THREADS 4
#define TAKES 20000

static void *take_many(void *passed) {
    unsigned *count = passed;
    for (int i = 0; i < TAKES; i++) {
        *count += group_limit_take(g, 1, "bug", 1000, START) == 0;
    }
    return NULL;
}

static void threads_share_one_limit(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    unsigned passed[THREADS] = {0}, sum = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_many, &passed[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += passed[i];
    }
    assert_int_equal(sum, 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_minutes_worth_comes_at_once_and_no_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_wait_that_it_names_is_long_enough, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_bugs_and_other_keys_have_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(none_is_no_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flood_of_groups_does_not_free_a_busy_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_share_one_limit, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
