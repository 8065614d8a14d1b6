/* SPDX-License-Identifier: MIT
 *
 * The stand-in for CFRunLoop calls its observers as the real one does. The ten lines below are what three
 * observers of the CFRunLoop of swift-corelibs-foundation 5.10.1 printed on Linux. The prefix b: has the
 * order LONG_MIN, x: the order 0, e: the order LONG_MAX; b2: and e2: are a second pair, which is added later.
 * Brackets have the calls of the loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <CoreFoundation/CFRunLoop.h>
#include <dispatch/dispatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ENTRY "b:entry x:entry e:entry "
#define TIMERS "b:timers x:timers e:timers "
#define SOURCES "b:sources x:sources e:sources "
#define WAIT "b:WAIT x:WAIT e:WAIT b:WOKE x:WOKE e:WOKE "
#define PASS TIMERS SOURCES
#define EXIT "b:exit x:exit e:exit"
#define NESTED ENTRY PASS WAIT "[timer] " PASS WAIT EXIT " "
#define TWO(name) "b:" name " b2:" name " x:" name " e:" name " e2:" name " "
#define TWO_PASS TWO("timers") TWO("sources")
#define TWO_WAIT TWO("WAIT") TWO("WOKE")
#define TWO_EXIT "b:exit b2:exit x:exit e:exit e2:exit"

static const char *const traces[] = {
    [1] = ENTRY PASS WAIT "[timer] " PASS WAIT EXIT,
    [2] = ENTRY PASS "[source0] " PASS "[source0] " PASS "[source0] " PASS WAIT EXIT,
    [3] = ENTRY PASS EXIT,
    [4] = ENTRY PASS WAIT "[timer: nested in kCFRunLoopDefaultMode { " NESTED "} = 3] " EXIT,
    [5] = ENTRY PASS WAIT "[timer: nested in Private { [timer] } = 1] " EXIT,
    [6] = ENTRY PASS WAIT "[timer: nested in Tracking { " NESTED "} = 3] " EXIT,
    [7] = ENTRY PASS "b:WAIT x:WAIT [observer at WAIT: nested { " ENTRY PASS WAIT EXIT
                     " }] e:WAIT b:WOKE x:WOKE e:WOKE " EXIT,
    [8] = TWO("entry") TWO_PASS TWO_WAIT TWO_EXIT,
    [9] = TWO("entry") TWO_PASS TWO_WAIT "[block] [block] [block] " TWO_PASS TWO_WAIT TWO_EXIT,
    [10] = TWO("entry") TWO_PASS "[pblock] [pblock] " TWO_WAIT TWO_EXIT,
};

static char printed[4096];
static CFRunLoopObserverRef observers[5];
static unsigned signals; /* how many source0 are still to come */
static CFRunLoopSourceRef source;

static void print(const char *prefix, const char *text) {
    size_t used = strlen(printed);
    snprintf(printed + used, sizeof printed - used, "%s%s%s", used > 0 ? " " : "", prefix, text);
}

static void on_activity(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *prefix) {
    (void)observer;
    print(prefix, activity == kCFRunLoopEntry           ? "entry"
                  : activity == kCFRunLoopBeforeTimers  ? "timers"
                  : activity == kCFRunLoopBeforeSources ? "sources"
                  : activity == kCFRunLoopBeforeWaiting ? "WAIT"
                  : activity == kCFRunLoopAfterWaiting  ? "WOKE"
                                                        : "exit");
}

static CFRunLoopObserverRef observe(CFOptionFlags activities, CFIndex order, CFRunLoopObserverCallBack call,
                                    const char *prefix) {
    CFRunLoopObserverContext context = {.info = (void *)prefix};
    CFRunLoopObserverRef o = CFRunLoopObserverCreate(NULL, activities, true, order, call, &context);
    CFRunLoopAddObserver(CFRunLoopGetCurrent(), o, kCFRunLoopCommonModes);
    CFRelease(o);
    return o;
}

static int begin(void **state) {
    (void)state;
    printed[0] = '\0';
    observers[0] = observe(kCFRunLoopAllActivities, LONG_MIN, on_activity, "b:");
    observers[1] = observe(kCFRunLoopAllActivities, 0, on_activity, "x:");
    observers[2] = observe(kCFRunLoopAllActivities, LONG_MAX, on_activity, "e:");
    observers[3] = observers[4] = NULL;
    return 0;
}

static int begin_with_two(void **state) {
    begin(state);
    observers[3] = observe(kCFRunLoopAllActivities, LONG_MIN, on_activity, "b2:");
    observers[4] = observe(kCFRunLoopAllActivities, LONG_MAX, on_activity, "e2:");
    return 0;
}

static int end(void **state) {
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        if (observers[i] != NULL) {
            CFRunLoopObserverInvalidate(observers[i]);
        }
    }
    return 0;
}

static void after(double seconds, CFStringRef mode, CFRunLoopTimerCallBack call) {
    CFRunLoopTimerRef timer =
        CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + seconds, 0, 0, 0, call, NULL);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, mode);
    CFRelease(timer);
}

static void run_and_compare(double seconds, unsigned trace) {
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, seconds, false);
    assert_string_equal(printed, traces[trace]);
}

static void on_timer(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    print("", "[timer]");
}

static void one_timer(void **state) {
    (void)state;
    after(0.02, kCFRunLoopDefaultMode, on_timer);
    run_and_compare(0.05, 1);
}

static void on_source(void *info) {
    (void)info;
    print("", "[source0]");
    if (--signals > 0) {
        CFRunLoopSourceSignal(source);
    }
}

static void three_sources_in_a_row(void **state) {
    (void)state;
    CFRunLoopSourceContext context = {.perform = on_source};
    source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    signals = 3;
    CFRunLoopSourceSignal(source);
    run_and_compare(0.05, 2);
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
}

static void zero_timeout(void **state) {
    (void)state;
    run_and_compare(0, 3);
}

static void run_nested(CFStringRef mode, const char *name) {
    char text[64];
    snprintf(text, sizeof text, "[timer: nested in %s {", name);
    print("", text);
    after(0.02, mode, on_timer);
    snprintf(text, sizeof text, "} = %d]", CFRunLoopRunInMode(mode, 0.06, false));
    print("", text);
}

static void nest_in_default_mode(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    run_nested(kCFRunLoopDefaultMode, "kCFRunLoopDefaultMode");
}

static void nested_in_the_default_mode(void **state) {
    (void)state;
    after(0.02, kCFRunLoopDefaultMode, nest_in_default_mode);
    run_and_compare(0.05, 4);
}

static void nest_in_private_mode(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    run_nested(CFSTR("Private"), "Private");
}

static void nested_in_a_private_mode(void **state) {
    (void)state;
    after(0.02, kCFRunLoopDefaultMode, nest_in_private_mode);
    run_and_compare(0.03, 5);
}

static void nest_in_tracking_mode(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    run_nested(CFSTR("Tracking"), "Tracking");
}

static void nested_in_a_mode_made_common_later(void **state) {
    (void)state;
    CFRunLoopAddCommonMode(CFRunLoopGetCurrent(), CFSTR("Tracking"));
    after(0.02, kCFRunLoopDefaultMode, nest_in_tracking_mode);
    run_and_compare(0.05, 6);
}

static void nest_once(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)activity, (void)info;
    print("", "[observer at WAIT: nested {");
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.03, false);
    print("", "}]");
    CFRunLoopObserverInvalidate(observer);
}

static void nested_in_an_observer(void **state) {
    (void)state;
    observe(kCFRunLoopBeforeWaiting, 5, nest_once, NULL);
    run_and_compare(0.05, 7);
}

static void a_second_pair(void **state) {
    (void)state;
    run_and_compare(0.03, 8);
}

static void on_block(void *text) {
    print("", text);
}

static void blocks_of_the_main_queue(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        dispatch_async_f(dispatch_get_main_queue(), "[block]", on_block);
    }
    run_and_compare(0.03, 9);
}

static void performed_blocks(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        cf_perform(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode, on_block, "[pblock]");
    }
    run_and_compare(0.03, 10);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define CASE_OF_TWO(name) cmocka_unit_test_setup_teardown(name, begin_with_two, end)
    const struct CMUnitTest tests[] = {
        CASE(one_timer),
        CASE(three_sources_in_a_row),
        CASE(zero_timeout),
        CASE(nested_in_the_default_mode),
        CASE(nested_in_a_private_mode),
        CASE(nested_in_a_mode_made_common_later),
        CASE(nested_in_an_observer),
        CASE_OF_TWO(a_second_pair),
        CASE_OF_TWO(blocks_of_the_main_queue),
        CASE_OF_TWO(performed_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
