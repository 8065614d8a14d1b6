/* SPDX-License-Identifier: MIT
 *
 * A hang's report has the label of the turn that hung: not that of the next turn, and none of an earlier one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "library.h"

#define TRACE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static void label_cart(uint64_t ms) {
    hangdog_label(looper.loop, "GET /cart", TRACE);
    block_sleep(ms);
}

static void label_next(uint64_t ms) {
    hangdog_label(looper.loop, "GET /next", NULL);
    block_sleep(ms);
}

static const char *text(const json_t *hangs, size_t i, const char *name) {
    const char *found = json_string_value(json_object_get(json_array_get(hangs, i), name));
    return found != NULL ? found : "none";
}

static void a_report_has_the_label_of_its_own_turn(void **state) {
    (void)state;
    looper_start(&looper, "main", 200 * MS);
    looper_call(&looper, label_next, 1);
    looper_post(&looper, label_cart, 600);
    looper_wait(&looper);
    looper_call(&looper, label_next, 1);
    json_decref(spool_wait(&spool, "hang", 1));
    looper_call(&looper, block_spin, 600);
    looper_stop(&looper);
    json_t *hangs = spool_wait(&spool, "hang", 2);
    assert_string_equal(text(hangs, 0, "label"), "GET /cart");
    assert_string_equal(text(hangs, 0, "traceparent"), TRACE);
    assert_string_equal(text(hangs, 1, "label"), "none");
    assert_string_equal(text(hangs, 1, "traceparent"), "none");
    json_decref(hangs);
}

static void a_call_without_a_loop_does_nothing(void **state) {
    (void)state;
    hangdog_label(NULL, "x", NULL);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_library, end_library)
    const struct CMUnitTest tests[] = {
        CASE(a_report_has_the_label_of_its_own_turn),
        CASE(a_call_without_a_loop_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
