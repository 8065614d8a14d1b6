/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define print_error cmocka_print_error /* cli/base/error.h has another one */
#include <cmocka.h>
#undef print_error

#include "agent/totals.h"

static struct total_key key_of(unsigned number) {
    struct total_key key = {.user = 33, .reader = 33};
    snprintf(key.app, sizeof key.app, "app-%u", number);
    return key;
}

static size_t take(struct totals *t, unsigned number) {
    const struct total_key key = key_of(number);
    return totals_take(t, &key);
}

static void a_key_has_one_place(void **state) {
    struct totals t = {0};
    (void)state;
    size_t first = take(&t, 1), second = take(&t, 2);
    assert_int_not_equal(first, second);
    assert_int_equal(first, take(&t, 1));
    totals_leave(&t, first);
    t.total[first].hangs = 5;
    totals_leave(&t, first);
    assert_int_equal(first, take(&t, 1));
    assert_int_equal(5, t.total[first].hangs); /* its sums stay */
    totals_free(&t);
}

static void the_key_that_was_left_first_gives_its_place(void **state) {
    struct totals t = {0};
    (void)state;
    for (unsigned i = 0; i < TOTALS_MAX; i++) {
        assert_int_equal(i, take(&t, i));
    }
    assert_int_equal(TOTALS_MAX, take(&t, 5000)); /* all are in use */
    assert_string_equal("other", t.total[TOTALS_MAX].key.app);
    assert_int_equal(TOTALS_MAX, take(&t, 5001));
    t.total[7].hangs = 5;
    totals_leave(&t, 9);
    totals_leave(&t, 7);
    assert_int_equal(9, take(&t, 5002));
    assert_int_equal(7, take(&t, 5003));
    assert_string_equal("app-5003", t.total[7].key.app);
    assert_int_equal(0, t.total[7].hangs);
    assert_int_equal(TOTALS_MAX, take(&t, 5004));
    totals_leave(&t, TOTALS_MAX);
    assert_int_equal(TOTALS_MAX, take(&t, 5005)); /* never the place of one key */
    assert_string_equal("other", t.total[TOTALS_MAX].key.app);
    totals_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_has_one_place),
        cmocka_unit_test(the_key_that_was_left_first_gives_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
