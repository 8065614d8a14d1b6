/* SPDX-License-Identifier: MIT
 *
 * Frames by a display link, over a fake runtime in Objective-C's place: which messages are sent, and how a
 * refresh of the display counts.
 *
 * sources: src/adapter/darwin/display_link.c
 * sources: src/adapter/darwin/frameworks.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "adapter/darwin/display_link.h"
#include "adapter/darwin/frameworks.h"
#include "hangdog/apple.h"
#include "library.h"

#define HZ 60
#define PERIOD (1.0 / HZ)

/* ---- a runtime ------------------------------------------------------------------------------------ */

/* An object is its description. */
static struct {
    char log[1024];
    char classes[256]; /* that the process has: " NAME NAME " */
    bool responds, screen;
    char new_class[64];
    void (*method)(void *, void *, void *);
    struct hd_display_link_times times;
} objc;

static void log_message(const char *object, const char *message, const char *arguments) {
    size_t used = strlen(objc.log);
    snprintf(objc.log + used, sizeof objc.log - used, "[%s %s%s] ", object, message, arguments);
}

static void *class_named(const char *name) {
    char text[64];
    snprintf(text, sizeof text, " %s ", name);
    return strstr(objc.classes, text) != NULL ? (void *)name : NULL;
}

static void *selector(const char *name) {
    return (void *)name;
}

static void *new_class(void *base, const char *name, size_t extra) {
    assert_string_equal(base, "NSObject");
    assert_int_equal(extra, 0);
    assert_memory_equal(name, "HangdogDisplayLinkTarget0x", 26);
    snprintf(objc.new_class, sizeof objc.new_class, "%s", name);
    return "Target";
}

static bool add_method(void *type, void *name, hd_method method, const char *types) {
    assert_string_equal(type, "Target");
    assert_string_equal(name, "refresh:");
    assert_string_equal(types, "v@:@");
    memcpy(&objc.method, &method, sizeof method);
    return true;
}

static void register_class(void *type) {
    assert_string_equal(type, "Target");
}

static void *send(void *object, void *message) {
    log_message(object, message, "");
    return strcmp(message, "alloc") == 0 || strcmp(message, "init") == 0 ? "target"
           : strcmp(message, "mainScreen") == 0                          ? (objc.screen ? "screen" : NULL)
           : strcmp(message, "currentRunLoop") == 0                      ? "loop"
                                                                         : object;
}

static void *send_two(void *object, void *message, void *one, void *other) {
    char arguments[64];
    snprintf(arguments, sizeof arguments, " %s %s", (const char *)one, (const char *)other);
    log_message(object, message, arguments);
    return "link";
}

static void send_object(void *object, void *message, void *argument) {
    log_message(object, message, argument);
}

static bool send_responds(void *object, void *message, void *argument) {
    assert_non_null(object);
    assert_string_equal(message, "respondsToSelector:");
    assert_string_equal(argument, "displayLinkWithTarget:selector:");
    return objc.responds;
}

static double send_double(void *object, void *message) {
    assert_string_equal(object, "link");
    return strcmp(message, "timestamp") == 0         ? objc.times.timestamp
           : strcmp(message, "targetTimestamp") == 0 ? objc.times.target_timestamp
                                                     : objc.times.duration;
}

static const void *constant(const char *name) {
    return strcmp(name, "NSRunLoopCommonModes") == 0 ? "common" : NULL;
}

/* ---- a loop --------------------------------------------------------------------------------------- */

static hangdog_loop *loop;
static double now; /* of the display */

static int begin_with(const char *classes) {
    memset(objc.log, 0, sizeof objc.log);
    snprintf(objc.classes, sizeof objc.classes, "%s", classes);
    objc.responds = objc.screen = true;
    hd_frameworks =
        (struct hd_frameworks){.objc = {class_named, selector, new_class, add_method, register_class, send,
                                        send_object, send_two, send_responds, send_double},
                               .constant = constant,
                               .loaded = true};
    begin_library(NULL);
    loop = hangdog_loop_watch("main", 0);
    assert_non_null(loop);
    hangdog_before_wait(loop);
    hangdog_after_wait(loop);
    now = 100;
    return 0;
}

static int begin_ios(void **state) {
    (void)state;
    return begin_with(" NSObject NSRunLoop UIScreen CADisplayLink NSScreen ");
}

static int begin_macos(void **state) {
    (void)state;
    return begin_with(" NSObject NSRunLoop CADisplayLink NSScreen ");
}

static int end(void **state) {
    hangdog_frames_unfollow();
    hangdog_loop_unwatch(loop);
    return end_library(state);
}

/* The next refresh of the display, `refreshes` after the last one. */
static void refresh_after(unsigned refreshes, double hz) {
    now += refreshes / hz;
    objc.times = (struct hd_display_link_times){
        .timestamp = now, .target_timestamp = now + 1 / hz, .duration = PERIOD};
    objc.method("target", "refresh:", "link");
}

static const struct hd_frames *frames(void) {
    return &((struct hd_loop *)(void *)loop)->frames;
}

static void assert_frames(uint64_t presented, uint64_t dropped) {
    assert_int_equal(atomic_load(&frames()->presented), presented);
    assert_int_equal(atomic_load(&frames()->dropped), dropped);
}

static void wait_shortly(void) {
    hangdog_before_wait(loop);
    nap_ms(1);
    hangdog_after_wait(loop);
}

/* ---- tests ---------------------------------------------------------------------------------------- */

static void ios_makes_a_link_by_its_class(void **state) {
    (void)state;
    assert_int_equal(hangdog_frames_follow(loop), 0);
    assert_string_equal(objc.log,
                        "[Target alloc] [target init] "
                        "[CADisplayLink displayLinkWithTarget:selector: target refresh:] [link retain] "
                        "[NSRunLoop currentRunLoop] [link addToRunLoop:forMode: loop common] ");
    assert_int_equal(hangdog_frames_follow(loop), -EALREADY);
    objc.log[0] = '\0';
    hangdog_frames_unfollow();
    assert_string_equal(objc.log, "[link invalidate] [link release] [target release] ");
    objc.log[0] = '\0';
    hangdog_frames_unfollow();
    assert_string_equal(objc.log, "");
    refresh_after(1, HZ); /* one that was under way */
    assert_frames(0, 0);
}

static void macos_makes_a_link_by_its_screen(void **state) {
    (void)state;
    assert_int_equal(hangdog_frames_follow(loop), 0);
    assert_non_null(strstr(objc.log, "[NSScreen mainScreen] "
                                     "[screen displayLinkWithTarget:selector: target refresh:] "));
}

static void what_has_no_link_has_an_error(void **state) {
    (void)state;
    assert_int_equal(hangdog_frames_follow(NULL), -EINVAL);
    objc.responds = false; /* a macOS before 14 */
    assert_int_equal(hangdog_frames_follow(loop), -ENOENT);
    assert_non_null(strstr(objc.log, "[target release]"));
    objc.responds = true;
    objc.screen = false; /* a Mac without a display */
    assert_int_equal(hangdog_frames_follow(loop), -ENOENT);
    objc.classes[0] = '\0'; /* a program without Foundation */
    assert_int_equal(hangdog_frames_follow(loop), -ENOENT);
    hd_frameworks = (struct hd_frameworks){0}; /* Linux */
    assert_int_equal(hangdog_frames_follow(loop), -ENOENT);
}

static void each_refresh_is_a_frame(void **state) {
    (void)state;
    assert_int_equal(hangdog_frames_follow(loop), 0);
    for (unsigned i = 0; i <= 60; i++) {
        refresh_after(1, HZ);
        wait_shortly();
    }
    assert_frames(60, 0); /* a frame ends with the second refresh */
    uint64_t frame_ns = atomic_load(&frames()->time_ns);
    assert_in_range(frame_ns, 59 * SECOND / HZ - MS, 59 * SECOND / HZ + MS);
    assert_int_equal(atomic_load(&frames()->hitch_ns), 0);
}

/* A turn of 100 ms: the display is refreshed six times and gets one frame. */
static void a_long_turn_drops_frames(void **state) {
    (void)state;
    assert_int_equal(hangdog_frames_follow(loop), 0);
    for (unsigned i = 0; i < 3; i++) {
        refresh_after(1, HZ);
        wait_shortly();
    }
    block_sleep(100);
    wait_shortly();
    refresh_after(7, HZ);
    assert_frames(3, 6);
    assert_in_range(atomic_load(&frames()->hitch_ns), 99 * MS, 101 * MS);
    /* also in the turn of the refresh itself */
    wait_shortly();
    refresh_after(1, HZ);
    wait_shortly();
    block_sleep(100);
    refresh_after(7, HZ);
    assert_frames(5, 12);
}

/* The system pauses a link in the background, and where a sensor covers the screen. */
static void a_pause_of_the_link_drops_no_frame(void **state) {
    (void)state;
    assert_int_equal(hangdog_frames_follow(loop), 0);
    for (unsigned i = 0; i < 3; i++) {
        refresh_after(1, HZ);
        wait_shortly();
    }
    refresh_after(600, HZ);
    wait_shortly();
    assert_frames(2, 0);
    refresh_after(1, HZ);
    assert_frames(3, 0);
}

/* ProMotion: the target says how long a frame is shown. */
static void a_display_may_have_a_variable_rate(void **state) {
    (void)state;
    assert_int_equal(hangdog_frames_follow(loop), 0);
    for (unsigned i = 0; i < 3; i++) {
        refresh_after(1, 120);
        wait_shortly();
    }
    assert_in_range(frames()->period_ns, SECOND / 120 - 1, SECOND / 120 + 1);
    block_sleep(50);
    refresh_after(7, 120);
    assert_frames(3, 6);
    now = 200; /* a link without a target */
    objc.times = (struct hd_display_link_times){.timestamp = now, .duration = PERIOD};
    objc.method("target", "refresh:", "link");
    assert_in_range(frames()->period_ns, SECOND / HZ - 1, SECOND / HZ + 1);
}

static void nonsense_counts_nothing(void **state) {
    const struct hd_display_link_times odd[] = {{1, 1, 0}, {-1, 1e300, -1}, {2, 2 + 1e-9, 1e-9}, {3, 1, 50}};
    struct hd_display_link_state link = {0};
    (void)state;
    uint64_t period_ns = frames()->period_ns;
    for (unsigned i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        hd_display_link_refresh(&link, (struct hd_loop *)(void *)loop, &odd[i]);
    }
    struct hd_display_link_times nan = {0.0 / 0.0, 0.0 / 0.0, 0.0 / 0.0};
    hd_display_link_refresh(&link, (struct hd_loop *)(void *)loop, &nan);
    assert_int_equal(frames()->period_ns, period_ns);
    assert_frames(0, 0);
}

static void a_session_has_the_frames(void **state) {
    (void)state;
    assert_int_equal(hangdog_frames_follow(loop), 0);
    for (unsigned i = 0; i <= 30; i++) {
        refresh_after(1, HZ);
        wait_shortly();
    }
    hangdog_frames_unfollow();
    hangdog_loop_unwatch(loop);
    loop = NULL;
    assert_int_equal(hangdog_stop(), 0);
    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    assert_int_equal(report_ns(session, "frames_presented"), 30);
    assert_int_equal(report_ns(session, "frames_dropped"), 0);
    double rate = json_number_value(json_object_get(session, "frames_per_second"));
    assert_true(rate > HZ - 0.2 && rate < HZ + 0.2);
    json_decref(sessions);
}

int main(void) {
#define IOS(name) cmocka_unit_test_setup_teardown(name, begin_ios, end)
#define MACOS(name) cmocka_unit_test_setup_teardown(name, begin_macos, end)
    const struct CMUnitTest tests[] = {
        IOS(ios_makes_a_link_by_its_class),      MACOS(macos_makes_a_link_by_its_screen),
        MACOS(what_has_no_link_has_an_error),    IOS(each_refresh_is_a_frame),
        IOS(a_long_turn_drops_frames),           IOS(a_pause_of_the_link_drops_no_frame),
        IOS(a_display_may_have_a_variable_rate), IOS(nonsense_counts_nothing),
        IOS(a_session_has_the_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
