/* SPDX-License-Identifier: MIT
 *
 * What a key has spent: reports, and the CPU time of costly ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <stdio.h>

#include "collector/keys/keys.h"
#include "store_in_folder.h"

#define RATE 100 /* reports a second; a key starts with those of one second */

static struct keys *keys;
static int key;

static int start(void **state) {
    char text[KEY_TEXT_BYTES], head[KEY_TEXT_BYTES + 8];
    store_set_up(state);
    const struct store_in_folder *p = *state;
    if (keys_make(p->store, KEY_SEND, "", text) < 0) {
        return -1;
    }
    keys = keys_start(p->store, RATE);
    snprintf(head, sizeof head, "Bearer %s", text);
    key = keys != NULL ? keys_check(keys, KEY_SEND, head) : -1;
    return key >= 0 ? 0 : -1;
}

static int end(void **state) {
    keys_stop(keys);
    return store_tear_down(state);
}

static void usual_reports_cost_one_each(void **state) {
    (void)state;
    keys_spend(keys, key, RATE - 10, (RATE - 10) * INT64_C(900000)); /* 0.9 ms each */
    assert_int_equal(keys_wait(keys, key), 0);
}

static void a_costly_report_counts_as_many(void **state) {
    (void)state;
    assert_int_equal(keys_wait(keys, key), 0);
    keys_spend(keys, key, 1, INT64_C(2000000000)); /* 2 s of CPU time: half of a CPU is 4 s */
    assert_in_range(keys_wait(keys, key), 2, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(usual_reports_cost_one_each, start, end),
        cmocka_unit_test_setup_teardown(a_costly_report_counts_as_many, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
