/* SPDX-License-Identifier: MIT
 *
 * The waits between attempts: they grow up to a limit, use their whole range, and obey Retry-After.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include "uploader/send.h"

static int64_t longest(unsigned attempt) {
    int64_t most = 0;
    for (uint64_t random = 0; random < 200000; random += 7) {
        int64_t wait = send_retry_wait_ms(attempt, random, 0);
        assert_true(wait >= 0 && wait <= RETRY_MOST_MS);
        most = wait > most ? wait : most;
    }
    return most;
}

static void the_range_doubles_up_to_its_limit(void **state) {
    (void)state;
    for (unsigned attempt = 0; attempt < 6; attempt++) {
        assert_true(longest(attempt) > (RETRY_FIRST_MS << attempt) - 8);
        assert_true(longest(attempt) <= RETRY_FIRST_MS << attempt);
    }
    assert_true(longest(7) > RETRY_MOST_MS - 8);
    assert_true(longest(4000000000U) > RETRY_MOST_MS - 8);
}

static void the_least_wait_is_none(void **state) {
    (void)state;
    assert_int_equal(send_retry_wait_ms(3, 0, 0), 0); /* full jitter */
}

static void no_wait_is_shorter_than_the_collector_says(void **state) {
    (void)state;
    for (uint64_t random = 0; random < 3000; random++) {
        int64_t wait = send_retry_wait_ms(0, random, 5);
        assert_true(wait >= 5000 && wait <= 5000 + RETRY_FIRST_MS);
    }
    assert_int_equal(send_retry_wait_ms(0, 0, -1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_range_doubles_up_to_its_limit),
                                       cmocka_unit_test(the_least_wait_is_none),
                                       cmocka_unit_test(no_wait_is_shorter_than_the_collector_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
