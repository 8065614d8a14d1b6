// SPDX-License-Identifier: MIT
// Scenarios of a CFRunLoop. Where there is none, they are left out.
#include "check.h"

#if defined(__APPLE__) && !defined(CHECK_WITHOUT_LOOPS)

#include <CoreFoundation/CFRunLoop.h>
#include <dispatch/dispatch.h>
#include <hangdog/cfrunloop.h>

#define NOINLINE __attribute__((noinline))

static volatile long sink;

NOINLINE static void block(void) {
    check_work(CHECK_HANG_MS);
    sink++;
}

static void in_timer(CFRunLoopTimerRef timer, void *info) {
    (void)timer;
    (void)info;
    block();
}

static void in_source(void *info) {
    (void)info;
    block();
}

static void in_observer(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)activity;
    (void)info;
    CFRunLoopObserverInvalidate(observer);
    block();
}

static void nest(CFRunLoopTimerRef timer, void *info) {
    (void)timer;
    (void)info;
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1.5, 0);
}

static void nest_in_private_mode(CFRunLoopTimerRef timer, void *info) {
    (void)timer;
    (void)info;
    CFStringRef mode = CFSTR("apple-check");
    CFRunLoopTimerRef later =
        CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + 60, 0, 0, 0, in_timer, NULL);
    CFRunLoopAddTimer(CFRunLoopGetMain(), later, mode);
    CFRunLoopRunInMode(mode, CHECK_HANG_MS / 1000.0, 0);
    CFRunLoopTimerInvalidate(later);
    CFRelease(later);
}

static void start_timer(CFRunLoopTimerCallBack call) {
    CFRunLoopTimerRef timer =
        CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + 0.1, 0, 0, 0, call, NULL);
    CFRunLoopAddTimer(CFRunLoopGetMain(), timer, kCFRunLoopDefaultMode);
    CFRelease(timer);
}

/* Runs the loop for 1.8 s after `prepare`. Its first run ends the launch. */
static int run_loop(void (*prepare)(void)) {
    hangdog_cfrunloop *watch = hangdog_cfrunloop_watch("main", 0, HANGDOG_CFRUNLOOP_EXIT_DEFAULT);
    if (watch == NULL) {
        return __LINE__;
    }
    check_function("block", block);
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.2, 0);
    prepare();
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1.8, 0);
    hangdog_cfrunloop_unwatch(watch);
    return 0;
}

static void nothing(void) {}

static void by_timer(void) {
    start_timer(in_timer);
}

static void by_source(void) {
    CFRunLoopSourceContext context = {.perform = in_source};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(CFRunLoopGetMain(), source, kCFRunLoopDefaultMode);
    CFRunLoopSourceSignal(source);
}

static void by_main_queue(void) {
    dispatch_async_f(dispatch_get_main_queue(), NULL, in_source);
}

static void by_observer(void) {
    CFRunLoopObserverContext context = {0, NULL, NULL, NULL, NULL};
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, 1, 2000000, in_observer, &context);
    CFRunLoopAddObserver(CFRunLoopGetMain(), observer, kCFRunLoopCommonModes);
}

static void by_nested(void) {
    start_timer(nest);
}

static void by_private_mode(void) {
    start_timer(nest_in_private_mode);
}

#define LOOP(name, prepare)                     \
    static int run_##name(const char *folder) { \
        (void)folder;                           \
        return run_loop(prepare);               \
    }
LOOP(loop_idle, nothing)
LOOP(loop_timer, by_timer)
LOOP(loop_source, by_source)
LOOP(loop_main_queue, by_main_queue)
LOOP(loop_observer, by_observer)
LOOP(loop_after_exit, block)
LOOP(loop_nested_idle, by_nested)
LOOP(loop_private_mode, by_private_mode)

const struct check_scenario check_loops[] = {
    {"loop-idle", run_loop_idle},
    {"loop-nested-idle", run_loop_nested_idle},
    {"loop-timer", run_loop_timer},
    {"loop-source", run_loop_source},
    {"loop-main-queue", run_loop_main_queue},
    {"loop-observer", run_loop_observer},
    {"loop-after-exit", run_loop_after_exit},
    {"loop-private-mode", run_loop_private_mode},
    {NULL, NULL},
};

#else
const struct check_scenario check_loops[] = {{NULL, NULL}};
#endif
