/* SPDX-License-Identifier: MIT
 *
 * A main run loop with blocks of 700 ms in each place where a CFRunLoop runs the program's code. Prints how
 * long each block took. The argument is the spool; with a second one the loop is only idle.
 */
#include <pthread.h>

#include "hangdog/cfrunloop.h"
#include "hangdog/main_queue.h"
#include "subject.h"

#define MS 1000000ull
#define THRESHOLD_MS 300
#define BLOCK_MS 700

/* Of the stand-in only. */
void cf_perform(CFRunLoopRef loop, CFStringRef mode, void (*run)(void *), void *argument);

static const char *place; /* of the next block */
static unsigned block_ms = BLOCK_MS;

__attribute__((noinline)) static void block(void) {
    uint64_t from_ns = now_ns();
    nap_ms(block_ms);
    printf("block %s %llu\n", place, now_ns() - from_ns);
}

static void in_call(void *info) {
    (void)info;
    block();
}

static void in_timer(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    block();
}

static void in_observer(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)activity, (void)info;
    CFRunLoopObserverInvalidate(observer);
    block();
}

static void on_timer(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
}

static void after(double seconds, CFStringRef mode, CFRunLoopTimerCallBack call) {
    CFRunLoopTimerRef timer =
        CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + seconds, 0, 0, 0, call, NULL);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, mode);
    CFRelease(timer);
}

static void run_for(double seconds) {
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, seconds, 0);
}

/* An emulator translates code at its first run, which takes milliseconds. */
static void warm_up(CFRunLoopTimerRef timer, void *info) {
    block_ms = 1;
    place = "short";
    in_timer(timer, info);
    block_ms = BLOCK_MS;
    place = "initialization-mode";
}

static void by_initialization_mode(void) {
    after(0.1, CFSTR("UIInitializationRunLoopMode"), warm_up);
    after(0.4, CFSTR("UIInitializationRunLoopMode"), in_timer);
    after(1.2, CFSTR("UIInitializationRunLoopMode"), on_timer);
    CFRunLoopRunInMode(CFSTR("UIInitializationRunLoopMode"), 3, 0);
    run_for(0.4);
}

static void by_timer(void) {
    place = "timer";
    after(0.05, kCFRunLoopDefaultMode, in_timer);
    run_for(0.9);
}

static void by_source(void) {
    CFRunLoopSourceContext context = {.perform = in_call};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    place = "source0";
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRunLoopSourceSignal(source);
    run_for(0.9);
    CFRelease(source);
}

static void by_main_queue(void) {
    place = "main-queue";
    dispatch_async_f(dispatch_get_main_queue(), NULL, in_call);
    run_for(0.9);
}

static void by_performed_block(void) {
    place = "perform-block";
    cf_perform(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode, in_call, NULL);
    run_for(0.9);
}

static void by_observer(void) {
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, 1, 2000000, in_observer, NULL);
    place = "observer";
    CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, kCFRunLoopCommonModes);
    CFRelease(observer);
    run_for(0.9);
}

static void by_event_after_exit(void) {
    place = "after-exit";
    block();
    run_for(0.2);
}

static void nest(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    after(0.5, kCFRunLoopDefaultMode, in_timer);
    run_for(1.6);
}

static void by_nested_loop(void) {
    place = "nested";
    after(0.02, kCFRunLoopDefaultMode, nest);
    run_for(0.2);
}

static void run_private(CFRunLoopTimerRef timer, void *info) {
    uint64_t from_ns = now_ns();
    (void)timer, (void)info;
    after(0.7, CFSTR("Private"), on_timer);
    CFRunLoopRunInMode(CFSTR("Private"), 10, 0);
    printf("block private-mode %llu\n", now_ns() - from_ns);
}

/* A wait in a private mode keeps the user waiting. */
static void by_private_mode(void) {
    after(0.02, kCFRunLoopDefaultMode, run_private);
    run_for(0.9);
}

static void nest_idly(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    run_for(1.5);
}

static void idly(void) {
    run_for(1.5);
    after(0.02, kCFRunLoopDefaultMode, nest_idly);
    run_for(0.2);
}

static void *run_thread(void *unused) {
    hangdog_cfrunloop *watch = hangdog_cfrunloop_watch("other", 0, HANGDOG_CFRUNLOOP_EXIT_DEFAULT);
    (void)unused;
    CHECK(watch != NULL);
    after(0.05, kCFRunLoopDefaultMode, in_timer);
    run_for(5);
    nap_ms(BLOCK_MS); /* the loop is idle after its exit */
    hangdog_cfrunloop_unwatch(watch);
    return NULL;
}

static void by_other_thread(void) {
    pthread_t thread;
    place = "other-thread";
    CHECK_EQUAL(0, pthread_create(&thread, NULL, run_thread, NULL));
    run_for(1.8);
    pthread_join(thread, NULL);
}

static void by_ping(void) {
    hangdog_loop *loop = hangdog_main_queue_watch("pinged", 0);
    CHECK(loop != NULL);
    run_for(0.5);
    place = "ping";
    after(0.05, kCFRunLoopDefaultMode, in_timer);
    run_for(0.9);
    hangdog_loop_unwatch(loop);
    run_for(0.1);
}

int main(int argc, char **argv) {
    static void (*const scenarios[])(void) = {
        by_initialization_mode, by_timer,       by_source, by_main_queue,   by_performed_block, by_observer,
        by_event_after_exit,    by_nested_loop, idly,      by_private_mode, by_other_thread};
    hangdog_options o = {.size = sizeof o,
                         .app_name = "cfrunloop",
                         .spool = argv[1],
                         .reports_per_day = UINT32_MAX,
                         .reports_per_fingerprint = UINT32_MAX,
                         .ping_period_ns = 20 * MS};
    for (int i = 0; i < HANGDOG_STATES; i++) {
        o.threshold_ns[i] = THRESHOLD_MS * MS;
    }
    CHECK_EQUAL(0, hangdog_start(&o));
    hangdog_cfrunloop *watch = hangdog_cfrunloop_watch("main", 0, HANGDOG_CFRUNLOOP_EXIT_DEFAULT);
    CHECK(watch != NULL);
    if (argc > 2) {
        run_for(0.5);
        printf("idle\n");
        fflush(stdout);
        run_for(2.5);
    } else {
        for (unsigned i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
            scenarios[i]();
        }
    }
    hangdog_cfrunloop_unwatch(watch);
    if (argc == 2) {
        by_ping();
    }
    CHECK_EQUAL(0, hangdog_stop());
    check_violations();
    return failed_checks ? 1 : 0;
}
