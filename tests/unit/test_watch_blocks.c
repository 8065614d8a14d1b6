/* SPDX-License-Identifier: MIT
 *
 * Watches beyond the first block: each has its own slot, and its own memory of the monitor's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "monitor/state.h"

static struct hd_run run;
static struct hd_monitor m = {.run = &run};
static struct hd_watch *watch[HD_LOOPS_MAX];

static int claim_all(void **state) {
    (void)state;
    run.watches.monitor_bytes = sizeof(struct hd_look_state);
    for (unsigned i = 0; i < HD_LOOPS_MAX; i++) {
        watch[i] = hd_watch_claim(&run.watches);
        if (watch[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

static void a_claim_finds_the_slots_in_their_order(void **state) {
    (void)state;
    for (unsigned i = 0; i < HD_LOOPS_MAX; i++) {
        assert_ptr_equal(watch[i], hd_watch_at(&run.watches, i));
        assert_int_equal(watch[i]->index, i);
    }
    assert_int_equal(hd_watch_slots(&run.watches), HD_LOOPS_MAX);
    assert_null(hd_watch_claim(&run.watches));
}

static void no_watch_shares_memory_with_what_the_monitor_remembers(void **state) {
    (void)state;
    static const struct hd_loop untouched;
    for (unsigned i = 0; i < HD_LOOPS_MAX; i++) {
        struct hd_look_state *s = hd_monitor_look_state(&m, watch[i]);
        memset(s, 0xa5, sizeof *s);
        s->next_ns = i;
    }
    for (unsigned i = 0; i < HD_LOOPS_MAX; i++) {
        assert_memory_equal(&watch[i]->loop, &untouched, sizeof untouched);
        assert_int_equal(watch[i]->use, HD_WATCH_CLAIMED);
        assert_int_equal(hd_monitor_look_state(&m, watch[i])->next_ns, i);
        assert_ptr_equal(hd_monitor_look_state(&m, watch[i])->watch, watch[i]);
    }
}

static void the_next_run_finds_zeros(void **state) {
    (void)state;
    hd_watch_clear_all(&run.watches);
    for (unsigned i = HD_BLOCK_LOOPS; i < HD_LOOPS_MAX; i++) {
        assert_int_equal(watch[i]->use, HD_WATCH_FREE);
        assert_int_equal(hd_monitor_look_state(&m, watch[i])->next_ns, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_finds_the_slots_in_their_order),
        cmocka_unit_test(no_watch_shares_memory_with_what_the_monitor_remembers),
        cmocka_unit_test(the_next_run_finds_zeros),
    };
    return cmocka_run_group_tests(tests, claim_all, NULL);
}
