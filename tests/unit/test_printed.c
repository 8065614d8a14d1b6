/* SPDX-License-Identifier: MIT
 *
 * Which reports were printed: found again, and the oldest gives its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "cli/reporter/printed.h"

static void a_report_is_found_again(void **state) {
    (void)state;
    static struct printed p;
    printed_add(&p, "one")->ended = true;
    printed_add(&p, "two");
    assert_int_equal(printed_count(&p), 2);
    assert_true(printed_add(&p, "one")->ended);
    assert_int_equal(printed_count(&p), 2);
    assert_false(printed_find(&p, "two")->ended);
    assert_null(printed_find(&p, "three"));
}

static void the_oldest_gives_its_place(void **state) {
    (void)state;
    static struct printed p;
    char id[16];
    for (unsigned i = 0; i <= PRINTED_MAX; i++) {
        snprintf(id, sizeof id, "%u", i);
        printed_add(&p, id)->ended = true;
    }
    assert_int_equal(printed_count(&p), PRINTED_MAX);
    assert_null(printed_find(&p, "0"));
    assert_non_null(printed_find(&p, "1"));
    assert_false(printed_add(&p, "0")->ended);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_is_found_again),
        cmocka_unit_test(the_oldest_gives_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
