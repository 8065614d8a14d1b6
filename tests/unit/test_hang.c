/* SPDX-License-Identifier: MIT
 *
 * What the worker makes of a turn that it was told of: whose it is, and how long what its samples saw lasted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "monitor/hang.h"

#define INTERVAL (50 * HD_NS_PER_MS)

static struct hd_worker k;
static struct hd_monitor m;

static int fresh(void **state) {
    (void)state;
    memset(&k, 0, sizeof k);
    hd_tree_pool_init(&k.pool);
    k.monitor = &m;
    return 0;
}

/* The slot is another loop's when the worker hears of it. */
static void a_hang_is_of_the_thread_that_had_the_loop_when_it_began(void **state) {
    (void)state;
    struct hd_watch *w = hd_watch_at(&m, 0);
    struct hd_message message = {.type = HD_MSG_TRACK, .generation = 1, .tid = 1};
    *w = (struct hd_watch){.name = "another", .generation = 2, .loop = {.tid = 2}};
    const struct hd_hang *h = hd_hang_begin(&k, &message);
    assert_int_equal(h->tid, 1);
    assert_string_equal(h->loop_name, "");
    message.generation = message.tid = 2;
    h = hd_hang_begin(&k, &message);
    assert_int_equal(h->tid, 2);
    assert_string_equal(h->loop_name, "another");
}

static void sample(struct hd_hang *h, uint64_t at_ns) {
    k.frames[0] = (struct hd_frame){.start = 1, .pc = 1};
    struct hd_last_sample now = {.valid = true, .at_ns = at_ns, .state = HD_RUN_BLOCKED};
    now.leaf = hd_hang_add_stack(&k, h, 1, at_ns);
    hd_hang_add(h, &now, 0);
}

/* It came while the second sample was taken. */
static void a_stop_that_is_known_late_is_nobodys_time(void **state) {
    (void)state;
    struct hd_message message = {.type = HD_MSG_TRACK, .at_ns = INTERVAL};
    struct hd_hang *h = hd_hang_begin(&k, &message);
    sample(h, INTERVAL);
    sample(h, 100 * INTERVAL);
    hd_hang_settle(h, 101 * INTERVAL, 98 * INTERVAL, NULL);
    assert_int_equal(h->timeline[0].for_ns, 2 * INTERVAL);
    assert_int_equal(h->timeline[1].for_ns, 0);
    assert_int_equal(k.pool.node[h->last.leaf].time_ns, 2 * INTERVAL);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup(f, fresh)
    const struct CMUnitTest tests[] = {
        TEST(a_hang_is_of_the_thread_that_had_the_loop_when_it_began),
        TEST(a_stop_that_is_known_late_is_nobodys_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
