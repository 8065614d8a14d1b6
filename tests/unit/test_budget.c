/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "monitor/budget.h"

#define MS HD_NS_PER_MS
#define S HD_NS_PER_S

static struct hd_budget budget;
static uint64_t now_ns, cpu_ns, pause_ns;

static int start(void **state) {
    (void)state;
    budget = (struct hd_budget){0};
    now_ns = S;
    cpu_ns = pause_ns = 0;
    return hd_budget_check(&budget, now_ns, 0, 0);
}

/* Seconds in which each costs so much. The first after which it was over the budget, 0: none. */
static unsigned seconds(unsigned n, uint64_t cpu_each_ns, uint64_t pause_each_ns) {
    unsigned first = 0;
    for (unsigned i = 1; i <= n; i++) {
        now_ns += S;
        cpu_ns += cpu_each_ns;
        pause_ns += pause_each_ns;
        if (hd_budget_check(&budget, now_ns, cpu_ns, pause_ns) && first == 0) {
            first = i;
        }
    }
    return first;
}

static void what_costs_a_thousandth_of_the_time_may_go_on_for_ever(void **state) {
    (void)state;
    assert_int_equal(seconds(10000, MS, MS), 0);
}

static void a_thousandth_of_a_quarter_of_an_hour_may_be_spent_at_once(void **state) {
    (void)state;
    assert_int_equal(seconds(1, 900 * MS, 0), 0);
    assert_int_equal(seconds(1, 3 * MS, 0), 1);
}

static void twice_the_cpu_time_lasts_a_quarter_of_an_hour(void **state) {
    (void)state;
    assert_int_equal(seconds(2000, 2 * MS, 0), 901);
}

static void twice_the_pause_lasts_a_minute(void **state) {
    (void)state;
    assert_int_equal(seconds(2000, 0, 2 * MS), 61);
}

static void over_it_stays_until_a_fourth_is_saved_up(void **state) {
    (void)state;
    assert_int_equal(seconds(61, 0, 2 * MS), 61);
    assert_int_equal(seconds(15, 0, 0), 1);
    assert_true(budget.over);
    seconds(1, 0, 0);
    assert_false(budget.over);
}

static void one_costly_second_is_not_paid_for_for_long(void **state) {
    (void)state;
    assert_int_equal(seconds(1, 0, 100 * S), 1);
    assert_int_equal(budget.pause.left_ns, -15 * (int64_t)MS);
    now_ns += 3600 * S;
    assert_false(hd_budget_check(&budget, now_ns, cpu_ns, pause_ns));
    assert_int_equal(budget.pause.left_ns, 60 * MS); /* an idle hour saves no more than that */
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        CASE(what_costs_a_thousandth_of_the_time_may_go_on_for_ever),
        CASE(a_thousandth_of_a_quarter_of_an_hour_may_be_spent_at_once),
        CASE(twice_the_cpu_time_lasts_a_quarter_of_an_hour),
        CASE(twice_the_pause_lasts_a_minute),
        CASE(over_it_stays_until_a_fourth_is_saved_up),
        CASE(one_costly_second_is_not_paid_for_for_long),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
