/* SPDX-License-Identifier: MIT
 *
 * Whose turn a message of the monitor starts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/tracking.h"

static struct hd_run run;
static struct hd_turns turns;
static struct hd_probe_context probe = {.proc_fd = -1, .throttled_fd = -1};

/* The slot is another loop's when the worker reads the message. */
static void a_turn_is_of_the_thread_that_had_the_loop_when_it_started(void **state) {
    (void)state;
    struct hd_watch *w = hd_watch_at(&run.watches, 0);
    struct hd_message message = {.type = HD_MSG_TRACK, .generation = 1, .thread = {1}};
    *w = (struct hd_watch){.name = "another", .generation = 2};
    atomic_store(&w->loop.thread, hd_thread_id_of(2)); /* clang initialises no atomic struct */
    hd_turns_init(&turns);
    const struct hd_turn *turn = hd_tracking_start(&turns, &run, &probe, &message);
    assert_int_equal(turn->loop.thread.number, 1);
    assert_string_equal(turn->loop.name, "");
    message.generation = 2;
    message.thread = hd_thread_id_of(2);
    turn = hd_tracking_start(&turns, &run, &probe, &message);
    assert_int_equal(turn->loop.thread.number, 2);
    assert_string_equal(turn->loop.name, "another");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_is_of_the_thread_that_had_the_loop_when_it_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
