/* SPDX-License-Identifier: MIT
 *
 * The runner's copy of a record that a program wrote at random: 100,000 of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cli/settle/record_copy.h"
#include "report/session.h"

#define ROUNDS 100000

static const uint8_t id[HD_UUID_BYTES] = {1, 2, 3, 4, 5, 6, 0x70, 8, 0x80, 10, 11, 12, 13, 14, 15, 16};

static struct hd_record_options decided(void) {
    struct hd_record_options o = {
        .interval_ns = 50000000, .started_ns = 1000, .spool = "/spool", .app_name = "app"};
    memcpy(o.session, id, sizeof o.session);
    return o;
}

static void assert_checked(const struct hd_record *r, const struct hd_record_options *o) {
    assert_string_equal(r->options.spool, o->spool);
    assert_memory_equal(r->options.link, o->link, sizeof o->link);
    assert_int_equal(r->options.interval_ns, o->interval_ns);
    assert_true(r->options.started_ns >= o->started_ns);
    assert_non_null(memchr(r->options.app_name, '\0', sizeof r->options.app_name));
    assert_null(strchr(r->options.app_name, '/'));
    assert_true(r->status.unwatched < HD_UNWATCHED_KINDS && r->status.end <= HD_RECORD_STOPPED_EARLY);
    assert_true(r->loop.certainty <= HD_RECORD_LOOP_CERTAIN && r->open.state <= HD_RECORD_HANG_FATAL);
    assert_true(r->hangs.count <= INT64_MAX && r->open.duration_ns <= INT64_MAX &&
                r->turns.histogram[3] <= INT64_MAX);
    assert_true(r->frames.count <= INT64_MAX && r->frames.total_ns <= INT64_MAX &&
                r->frames.histogram[2] <= INT64_MAX);
    assert_true(r->owner.pid <= INT32_MAX && r->options.pid >= 0 && r->hangs.max_ns <= INT64_MAX);
    assert_true(r->options.started_ns + r->runner.stopped_ns <= INT64_MAX);
    assert_true(r->options.started_wall_ns <= INT64_MAX &&
                r->open.since_ns + r->open.duration_ns <= INT64_MAX);
    struct hd_session s;
    struct hd_monitor_cost cost;
    hd_session_fill(r, 0, &s, &cost);
    assert_true(s.turns <= INT64_MAX && cost.pause_total_ns <= INT64_MAX);
    assert_true(r->open.hang_id[6] == 0 || (r->open.hang_id[6] >> 4 == 7 && r->open.hang_id[8] >> 6 == 2));
}

static void nothing_that_the_program_writes_is_believed(void **state) {
    (void)state;
    static struct hd_record shared, copy;
    const struct hd_record_options o = decided();
    uint8_t *bytes = (uint8_t *)&shared;
    srandom(1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < 64; i++) {
            size_t at = (size_t)random() % sizeof shared;
            uint64_t word = round % 3 == 0 ? UINT64_MAX : (uint64_t)random() << 32 ^ (uint64_t)random();
            memcpy(bytes + at, &word, sizeof shared - at < 8 ? sizeof shared - at : 8);
        }
        record_copy(&copy, &shared, &o, round % 2 == 0);
        assert_checked(&copy, &o);
    }
}

static void what_the_program_says_truly_is_kept(void **state) {
    (void)state;
    static struct hd_record shared, copy;
    const struct hd_record_options o = decided();
    shared.options.of_child = true;
    memcpy(shared.options.session, id, sizeof id);
    shared.options.session[0] = 9;
    memcpy(shared.options.app_name, "child", sizeof "child");
    memcpy(shared.open.hang_id, id, sizeof id);
    shared.open.state = HD_RECORD_HANG_LASTS;
    shared.hangs.count = 7;
    record_copy(&copy, &shared, &o, false);
    assert_true(copy.options.of_child);
    assert_int_equal(copy.options.session[0], 9);
    assert_string_equal(copy.options.app_name, "child");
    assert_string_equal(copy.options.spool, "/spool");
    assert_memory_equal(copy.open.hang_id, id, sizeof id);
    assert_int_equal(copy.open.state, HD_RECORD_HANG_LASTS);
    assert_int_equal(copy.hangs.count, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_that_the_program_writes_is_believed),
        cmocka_unit_test(what_the_program_says_truly_is_kept),
    };
    return cmocka_run_group_tests_name("record_copy", tests, NULL, NULL);
}
