/* SPDX-License-Identifier: MIT
 *
 * A loop of frames, which tells nothing but that it has presented one: what a session says of its frames, and
 * a hang in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "library.h"

#define T THRESHOLD_MS
#define FRAMES 60

/* On this thread: frames of 10 ms each. */
static void present(hangdog_loop *loop, unsigned frames) {
    for (unsigned i = 0; i < frames; i++) {
        hangdog_frame(loop);
        nap_ms(10);
    }
}

static void start(uint64_t frame_drop_ms) {
    hangdog_options options = library_options(&spool);
    options.display_hz = 50;
    options.frame_drop_ns = frame_drop_ms * MS;
    assert_int_equal(hangdog_start(&options), 0);
}

static int64_t counted(const json_t *histogram) {
    int64_t sum = 0;
    for (size_t i = 0; i < json_array_size(histogram); i++) {
        sum += json_integer_value(json_object_get(json_array_get(histogram, i), "count"));
    }
    return sum;
}

static void a_session_has_its_frames(void **state) {
    (void)state;
    start(0);
    hangdog_loop *loop = hangdog_loop_watch("game", 0);
    uint64_t from_ns = now_ns();
    present(loop, FRAMES);
    nap_ms(T / 2); /* the last frame takes 110 ms: 5 refreshes of 20 ms are missed */
    hangdog_frame(loop);
    uint64_t took_ns = now_ns() - from_ns;
    hangdog_loop_unwatch(loop);
    assert_int_equal(hangdog_stop(), 0);
    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    assert_int_equal(report_ns(session, "frames_presented"), FRAMES + 1);
    assert_int_equal(counted(json_object_get(session, "frame_histogram")), FRAMES);
    assert_true(report_ns(session, "frames_dropped") >= 4);
    uint64_t hitch_ns = report_ns(session, "hitch_ns"), frame_ns = report_ns(session, "frame_ns");
    assert_true(hitch_ns >= (T / 2 + 10 - 20) * MS && hitch_ns < took_ns);
    assert_true(frame_ns <= took_ns && frame_ns >= took_ns - took_ns / 10);
    double rate = json_number_value(json_object_get(session, "frames_per_second"));
    double ratio = json_number_value(json_object_get(session, "hitch_ratio"));
    assert_true(rate > FRAMES * 1e9 / (double)took_ns - 1 && rate < 100.1);
    assert_true(ratio > 0.99 * 1e3 * (double)hitch_ns / (double)frame_ns);
    assert_true(ratio < 1.01 * 1e3 * (double)hitch_ns / (double)frame_ns);
    json_decref(sessions);
    spool_expect(&spool, 0);
}

static void a_frame_over_the_threshold_is_a_hang(void **state) {
    (void)state;
    start(0);
    hangdog_loop *loop = hangdog_loop_watch("game", 0);
    present(loop, FRAMES / 2);
    uint64_t from_ns = now_ns();
    hangdog_frame(loop);
    block_sleep(3 * T);
    hangdog_frame(loop);
    uint64_t took_ns = now_ns() - from_ns;
    present(loop, FRAMES / 2);
    hangdog_loop_unwatch(loop);
    assert_int_equal(hangdog_stop(), 0);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(hangs, 0);
    assert_string_equal(report_text(hang, "kind"), "hang");
    assert_string_equal(report_text(json_object_get(hang, "loop"), "scheme"), "frame");
    assert_string_equal(report_cause(hang), "sleep");
    assert_near(report_ns(hang, "duration_ns"), took_ns);
    assert_true(report_blames(hang, block_sleep));
    json_decref(hangs);
}

/* With the stack that the long frame had; it is no hang. */
static void a_long_frame_has_a_report(void **state) {
    (void)state;
    start(T / 3);
    hangdog_loop *loop = hangdog_loop_watch("game", 0);
    present(loop, FRAMES / 2);
    uint64_t from_ns = now_ns();
    hangdog_frame(loop);
    block_sleep(T * 2 / 3);
    hangdog_frame(loop);
    uint64_t took_ns = now_ns() - from_ns;
    present(loop, FRAMES / 2);
    hangdog_loop_unwatch(loop);
    assert_int_equal(hangdog_stop(), 0);
    json_t *frames = spool_wait(&spool, "frame-drop", 1), *sessions = spool_wait(&spool, "session", 1);
    const json_t *frame = json_array_get(frames, 0);
    assert_near(report_ns(frame, "duration_ns"), took_ns);
    assert_int_equal(report_ns(frame, "threshold_ns"), T / 3 * MS);
    assert_string_equal(report_text(json_object_get(frame, "loop"), "scheme"), "frame");
    assert_string_equal(report_cause(frame), "sleep");
    assert_true(report_blames(frame, block_sleep));
    assert_int_equal(report_ns(json_object_get(json_array_get(sessions, 0), "session"), "hangs"), 0);
    json_decref(frames);
    json_decref(sessions);
}

/* The same turns of a loop that presents no frame have none, nor has a frame where nobody asked. */
static void only_a_frame_is_a_long_frame(void **state) {
    (void)state;
    start(T / 3);
    hangdog_loop *loop = hangdog_loop_watch("server", 0);
    hangdog_turn(loop);
    block_sleep(T * 2 / 3);
    hangdog_turn(loop);
    hangdog_loop_unwatch(loop);
    assert_int_equal(hangdog_stop(), 0);
    start(0);
    loop = hangdog_loop_watch("game", 0);
    present(loop, FRAMES / 2);
    block_sleep(T * 2 / 3);
    present(loop, FRAMES / 2);
    hangdog_loop_unwatch(loop);
    assert_int_equal(hangdog_stop(), 0);
    spool_expect(&spool, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_session_has_its_frames, begin_spool, end_library),
        cmocka_unit_test_setup_teardown(a_frame_over_the_threshold_is_a_hang, begin_spool, end_library),
        cmocka_unit_test_setup_teardown(a_long_frame_has_a_report, begin_spool, end_library),
        cmocka_unit_test_setup_teardown(only_a_frame_is_a_long_frame, begin_spool, end_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
