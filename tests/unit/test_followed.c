/* SPDX-License-Identifier: MIT
 *
 * Which turn gives its place at the worker to another one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "monitor/followed.h"

static struct hd_run run;
static struct hd_monitor m = {.run = &run};

/* A watch whose loop is in a turn of this phase. */
static struct hd_look_state *watch_in(enum hd_turn_phase phase, uint32_t generation) {
    struct hd_watch *w = hd_watch_claim(&run.watches);
    assert_non_null(w);
    w->generation = generation;
    w->use = HD_WATCH_ON;
    struct hd_look_state *s = hd_monitor_look_state(&m, w);
    s->turn.phase = (uint8_t)phase;
    return s;
}

/* A claim marks its slot as taken first, and sets the slot's index last. */
static void a_slot_that_is_just_claimed_is_no_followed_watch(void **state) {
    (void)state;
    for (uint32_t i = 0; i < HD_FOLLOWED_MAX; i++) {
        hd_followed_start(&m, watch_in(HD_TURN_TRACKED, 10 + i), (struct hd_message){.loop = (uint8_t)i});
    }
    struct hd_look_state *hang = watch_in(HD_TURN_HANGING, 20);
    struct hd_watch *claimed = hd_watch_claim(&run.watches);
    assert_non_null(claimed);
    claimed->index = 0;
    hd_followed_start(&m, hang, (struct hd_message){.loop = hang->watch->index});

    assert_true(hang->followed);
    uint32_t bytes;
    const struct hd_message *message;
    while ((message = hd_ring_peek(&run.channel.ring, &bytes)) != NULL && message->type != HD_MSG_FORGET) {
        hd_ring_release(&run.channel.ring);
    }
    assert_non_null(message);
    assert_int_equal(message->generation, 10 + message->loop);
    assert_ptr_equal(m.look[0].watch, hd_watch_at(&run.watches, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_slot_that_is_just_claimed_is_no_followed_watch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
