/* SPDX-License-Identifier: MIT
 *
 * Each place where a CFRunLoop may run the program's code: a block of 700 ms there is one hang, whose
 * duration differs by at most 1 ms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dispatch/dispatch.h>

#include "cf_watch.h"

#define CORE_ANIMATION_ORDER 2000000

static void by_timer(void) {
    after_ms(50, kCFRunLoopDefaultMode, block_in_timer);
    run_for(900);
}

static void a_timer(void **state) {
    (void)state;
    see_block("timer", by_timer);
}

static void block_in_call(void *unused) {
    (void)unused;
    do_block();
}

static void by_source(void) {
    CFRunLoopSourceContext context = {.perform = block_in_call};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRunLoopSourceSignal(source);
    run_for(900);
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
}

static void a_source(void **state) {
    (void)state;
    see_block("source0", by_source);
}

static void by_main_queue(void) {
    dispatch_async_f(dispatch_get_main_queue(), NULL, block_in_call);
    run_for(900);
}

static void a_block_of_the_main_queue(void **state) {
    (void)state;
    see_block("main queue", by_main_queue);
}

static void by_performed_block(void) {
    cf_perform(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode, block_in_call, NULL);
    run_for(900);
}

static void a_performed_block(void **state) {
    (void)state;
    see_block("perform-block", by_performed_block);
}

static void block_once(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)activity, (void)info;
    CFRunLoopObserverInvalidate(observer);
    do_block();
}

static void by_observer(void) {
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, true, CORE_ANIMATION_ORDER, block_once, NULL);
    CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, kCFRunLoopCommonModes);
    CFRelease(observer);
    run_for(900);
}

static void an_observer_before_the_wait(void **state) {
    (void)state;
    see_block("observer of order 2,000,000", by_observer);
}

/* -[NSApplication run] takes an event from a run that exits, and handles the event then. */
static void by_event_after_exit(void) {
    do_block();
    run_for(20);
}

static void an_event_after_the_exit(void **state) {
    (void)state;
    see_block("after exit", by_event_after_exit);
}

static void nest(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    after_ms(500, kCFRunLoopDefaultMode, block_in_timer);
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1.6, false);
}

/* The nested loop is idle for 500 ms before the block, and for 400 ms after it. */
static void by_nested_loop(void) {
    after_ms(20, kCFRunLoopDefaultMode, nest);
    run_for(50);
}

static void a_nested_loop(void **state) {
    (void)state;
    see_block("nested loop", by_nested_loop);
}

static void run_private(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    uint64_t from_ns = now_ns();
    block_sleep(10); /* the report needs a stack with this function */
    after_ms(50, CFSTR("Private"), block_in_timer);
    CFRunLoopRunInMode(CFSTR("Private"), 10, false);
    block_ns = now_ns() - from_ns;
}

/* A synchronous call that runs a private mode: its wait and its blocks are one turn. */
static void by_private_mode(void) {
    after_ms(20, kCFRunLoopDefaultMode, run_private);
    run_for(900);
}

static void a_private_mode(void **state) {
    (void)state;
    see_block("private mode", by_private_mode);
}

static void on_timer(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
}

/* UIKit's mode at launch. The loop waits for 400 ms before the block, and for 100 ms after it. */
static void by_initialization_mode(void) {
    hangdog_totals totals = {.size = sizeof totals};
    after_ms(400, CFSTR("UIInitializationRunLoopMode"), block_in_timer);
    after_ms(1200, CFSTR("UIInitializationRunLoopMode"), on_timer);
    CFRunLoopRunInMode(CFSTR("UIInitializationRunLoopMode"), 2, false);
    nap_ms(50);
    assert_int_equal(hangdog_stats(&totals), 0);
    assert_int_equal(totals.launch_ns, 0);
    run_for(50);
    assert_int_equal(hangdog_stats(&totals), 0);
    assert_true(totals.launch_ns >= 1100 * MS);
}

static void the_initialization_mode(void **state) {
    (void)state;
    see_block_of_kind("initialization mode", "launch", false, by_initialization_mode);
}

/* A wait in a common mode before the end of the launch is announced. */
static void by_launch_of_an_app(void) {
    hangdog_totals totals = {.size = sizeof totals};
    app_launches = true;
    run_for(400);
    after_ms(10, kCFRunLoopDefaultMode, block_in_timer);
    run_for(900);
    nap_ms(50);
    assert_int_equal(hangdog_stats(&totals), 0);
    assert_int_equal(totals.launch_ns, 0);
    app_launches = false;
    run_for(50);
    assert_int_equal(hangdog_stats(&totals), 0);
    assert_true(totals.launch_ns >= 1300 * MS);
}

static void the_launch_of_an_app(void **state) {
    (void)state;
    see_block_of_kind("launch of an app", "launch", false, by_launch_of_an_app);
}

static void nest_in_launch(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    after_ms(30, kCFRunLoopDefaultMode, block_in_timer);
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.05, false);
}

/* A nested loop of the launch: after its exit the outer loop runs, and is not idle. */
static void by_loop_nested_in_launch(void) {
    after_ms(50, CFSTR("UIInitializationRunLoopMode"), nest_in_launch);
    CFRunLoopRunInMode(CFSTR("UIInitializationRunLoopMode"), 0.1, false);
    run_for(20);
}

static void a_loop_nested_in_the_launch(void **state) {
    (void)state;
    see_block_of_kind("nested in launch", "hang", false, by_loop_nested_in_launch);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_watch, end_watch)
    const struct CMUnitTest tests[] = {
        CASE(a_timer),
        CASE(a_source),
        CASE(a_block_of_the_main_queue),
        CASE(a_performed_block),
        CASE(an_observer_before_the_wait),
        CASE(an_event_after_the_exit),
        CASE(a_nested_loop),
        CASE(a_private_mode),
        CASE(the_initialization_mode),
        CASE(the_launch_of_an_app),
        CASE(a_loop_nested_in_the_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
