/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/budget.h"

#define S UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

static void the_start_has_an_hour_of_credit(void **state) {
    struct budget b;
    (void)state;
    budget_start(&b, 0.5, 64 * MIB, 0, 0);
    assert_int_equal(budget_check(&b, S, 8 * S, MIB), BUDGET_MORE);
    assert_int_equal(budget_check(&b, 2 * S, 17 * S, MIB), BUDGET_KEEP); /* of 18 s */
    assert_int_equal(budget_check(&b, 3 * S, 19 * S, MIB), BUDGET_LESS);
}

static void credit_grows_by_the_limit(void **state) {
    struct budget b;
    (void)state;
    budget_start(&b, 0.5, 64 * MIB, 0, 0);
    assert_int_equal(budget_check(&b, S, 20 * S, MIB), BUDGET_LESS); /* 2 s too much */
    assert_int_equal(budget_check(&b, 300 * S, 20 * S, MIB), BUDGET_LESS);
    assert_int_equal(budget_check(&b, 450 * S, 20 * S, MIB), BUDGET_KEEP); /* 0.5 % of 450 s are 2.25 s */
    assert_int_equal(budget_check(&b, 86400 * S, 20 * S, MIB), BUDGET_MORE);
    assert_int_equal(budget_check(&b, 86401 * S, 39 * S, MIB), BUDGET_LESS); /* no more than an hour's */
}

static void memory_has_a_limit(void **state) {
    struct budget b;
    (void)state;
    budget_start(&b, 0.5, 64 * MIB, 0, 0);
    assert_int_equal(budget_check(&b, S, 0, 64 * MIB), BUDGET_KEEP);
    assert_int_equal(budget_check(&b, S, 0, 65 * MIB), BUDGET_LESS);
    assert_int_equal(budget_check(&b, S, 0, 50 * MIB), BUDGET_MORE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_start_has_an_hour_of_credit),
        cmocka_unit_test(credit_grows_by_the_limit),
        cmocka_unit_test(memory_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
