/* SPDX-License-Identifier: MIT
 *
 * The adapter to CFRunLoop where there is no hang: idle loops, and the end of a watch. Also games that never
 * wait, loops of other threads, and pings to the main queue.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hangdog/main_queue.h>
#include <malloc.h>

#include "cf_run_loop.h"
#include "cf_watch.h"
#include "monitor_sleeps.h"

static void end_without_report(void) {
    hangdog_cfrunloop_unwatch(watch);
    watch = NULL;
    assert_int_equal(hangdog_stop(), 0);
    spool_expect(&spool, 0);
}

static void an_idle_loop_has_no_hang(void **state) {
    (void)state;
    run_for(1500);
    end_without_report();
}

static void nest(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1.5, false);
}

static void an_idle_nested_loop_has_no_hang(void **state) {
    (void)state;
    after_ms(20, kCFRunLoopDefaultMode, nest);
    run_for(50);
    end_without_report();
}

static void nest_before_the_wait(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    (void)activity, (void)info;
    CFRunLoopObserverInvalidate(observer);
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.6, false);
}

static void a_loop_nested_in_an_observer_has_no_hang(void **state) {
    (void)state;
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, true, 5, nest_before_the_wait, NULL);
    CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, kCFRunLoopCommonModes);
    CFRelease(observer);
    run_for(900);
    end_without_report();
}

/* The samples of the launch's wait in the initialization mode would be a hang of the launch. */
static void an_idle_initialization_mode_has_no_hang(void **state) {
    (void)state;
    after_ms(900, CFSTR("UIInitializationRunLoopMode"), block_in_timer); /* the timer never fires */
    CFRunLoopRunInMode(CFSTR("UIInitializationRunLoopMode"), 0.6, false);
    run_for(600);
    end_without_report();
}

/* Counts in the middle of a wait of the main loop. */
static void *count_sleeps(void *count) {
    nap_ms(300);
    long before = monitor_sleeps();
    nap_ms(1000);
    *(long *)count = monitor_sleeps() - before;
    return NULL;
}

static void an_idle_loop_wakes_no_thread(void **state) {
    (void)state;
    long count = 1;
    run_for(100);
    for (unsigned i = 0; i < TRIES && count > 0; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, count_sleeps, &count), 0);
        run_for(1500);
        pthread_join(thread, NULL);
    }
    print_message("the monitor slept %ld times in 1 s\n", count);
    assert_int_equal(count, 0);
}

static void on_timer(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
}

/* A game runs its loop with a timeout of 0. A frame of 700 ms is a hang, and no launch. */
static void a_loop_that_never_waits_has_turns(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3 * HANGDOG_CFRUNLOOP_PUMPS; i++) {
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true);
        nap_ms(2);
    }
    do_block();
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true);
    uint64_t error_ns = report_error_ns("hang", block_ns);
    print_message("pumped: seen with an error of %.3f ms\n", (double)error_ns / 1e6);
    assert_true(error_ns <= 5 * MS || SLOW);
}

struct long_launch {
    unsigned waits;
    hangdog_totals totals;
};

/* A timer that ends each wait. Long after the launch is over, it reads the totals and stops the loop. */
static void count_wait(CFRunLoopTimerRef timer, void *info) {
    struct long_launch *launch = info;
    (void)timer;
    if (++launch->waits == 4 * HANGDOG_CFRUNLOOP_PUMPS) {
        assert_int_equal(hangdog_stats(&launch->totals), 0);
        CFRunLoopStop(CFRunLoopGetCurrent());
    }
}

/* A program that follows states, and runs no NSApplication. */
static void a_launch_without_an_end_is_over_after_some_waits(void **state) {
    struct long_launch launch = {.totals = {.size = sizeof launch.totals}};
    CFRunLoopTimerContext context = {.info = &launch};
    (void)state;
    app_launches = true;
    CFRunLoopTimerRef timer =
        CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent(), 0.002, 0, 0, count_wait, &context);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    CFRunLoopRun();
    CFRunLoopTimerInvalidate(timer);
    CFRelease(timer);
    app_launches = false;
    assert_true(launch.totals.launch_ns > 0);
    end_without_report();
}

static void a_turn_allocates_no_memory(void **state) {
    (void)state;
    run_for(20);
    struct mallinfo2 before = mallinfo2();
    for (unsigned i = 0; i < 1000; i++) {
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, i % 8 == 0 ? 0.001 : 0, false);
    }
    assert_int_equal(mallinfo2().uordblks, before.uordblks);
}

static void no_observer_is_left(void **state) {
    (void)state;
    CFRunLoopRef loop = CFRunLoopGetMain();
    unsigned observers = 0;
    run_for(20);
    for (unsigned i = 0; i < CF_MODES; i++) {
        observers += loop->modes[i].items[CF_OBSERVER][0] != NULL;
    }
    assert_true(observers >= 2); /* the common modes and the initialization mode */
    end_without_report();
    for (unsigned i = 0; i < CF_MODES; i++) {
        assert_null(loop->modes[i].items[CF_OBSERVER][0]);
    }
    assert_null(loop->common[CF_OBSERVER][0]);
}

static void nothing_is_watched_before_the_start(void **state) {
    (void)state;
    end_without_report();
    assert_null(hangdog_cfrunloop_watch("main", 0, HANGDOG_CFRUNLOOP_EXIT_DEFAULT));
    hangdog_cfrunloop_unwatch(NULL);
    assert_null(hangdog_main_queue_watch("main", 0));
}

/* ---- loops of other threads ----------------------------------------------------------------------- */

struct thread_plan {
    hangdog_cfrunloop_exit outermost;
    CFRunLoopTimerCallBack call; /* of a timer */
    bool after_exit;             /* a block after the exit */
};

static void *run_on_thread(void *plan) {
    const struct thread_plan *p = plan;
    hangdog_cfrunloop *own = hangdog_cfrunloop_watch("other", 0, p->outermost);
    assert_non_null(own);
    after_ms(50, kCFRunLoopDefaultMode, p->call);
    run_for(100); /* the timer's loop ends once it has fired */
    if (p->after_exit) {
        do_block();
        after_ms(10, kCFRunLoopDefaultMode, p->call);
        run_for(50);
    }
    hangdog_cfrunloop_unwatch(own);
    return NULL;
}

static void run_thread(const struct thread_plan *plan) {
    pthread_t thread;
    run_for(20);
    assert_int_equal(pthread_create(&thread, NULL, run_on_thread, (void *)plan), 0);
    run_for(1200);
    pthread_join(thread, NULL);
}

static void a_block_on_another_thread_is_seen(void **state) {
    (void)state;
    run_thread(&(struct thread_plan){.call = block_in_timer});
    uint64_t error_ns = report_error_ns("hang", block_ns);
    print_message("other thread: seen with an error of %.3f ms\n", (double)error_ns / 1e6);
    assert_true(error_ns <= MS || SLOW);
}

static void another_thread_is_idle_after_the_exit(void **state) {
    (void)state;
    run_thread(&(struct thread_plan){.call = on_timer, .after_exit = true});
    end_without_report();
}

static void another_thread_may_be_busy_after_the_exit(void **state) {
    (void)state;
    run_thread(&(struct thread_plan){HANGDOG_CFRUNLOOP_EXIT_BUSY, on_timer, true});
    assert_true(report_error_ns("hang", block_ns) <= 5 * MS || SLOW);
}

static void watch_in_run(CFRunLoopTimerRef timer, void *own) {
    (void)timer;
    *(hangdog_cfrunloop **)own = hangdog_cfrunloop_watch("other", 0, HANGDOG_CFRUNLOOP_EXIT_DEFAULT);
    after_ms(10, kCFRunLoopDefaultMode, on_timer);
    run_for(20);
    do_block(); /* after the nested exit: the loop is not idle */
}

static void *watch_late(void *unused) {
    hangdog_cfrunloop *own = NULL;
    CFRunLoopTimerContext context = {.info = &own};
    (void)unused;
    CFRunLoopTimerRef timer =
        CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + 0.01, 0, 0, 0, watch_in_run, &context);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    CFRelease(timer);
    after_ms(800, kCFRunLoopDefaultMode, on_timer);
    run_for(900);
    hangdog_cfrunloop_unwatch(own);
    return NULL;
}

/* The watch begins in a run, whose entry has no mark. */
static void a_watch_may_start_in_a_run(void **state) {
    pthread_t thread;
    (void)state;
    run_for(20);
    assert_int_equal(pthread_create(&thread, NULL, watch_late, NULL), 0);
    run_for(1200);
    pthread_join(thread, NULL);
    assert_true(report_error_ns("hang", block_ns) <= 5 * MS || SLOW);
}

/* ---- pings ---------------------------------------------------------------------------------------- */

static int begin_pings(void **state) {
    (void)state;
    begin_spool(state);
    start_with_pings_each(20);
    return 0;
}

static void pings_find_a_block(void **state) {
    (void)state;
    hangdog_loop *loop = hangdog_main_queue_watch("main", 0);
    assert_non_null(loop);
    run_for(600);
    after_ms(50, kCFRunLoopDefaultMode, block_in_timer);
    run_for(900);
    hangdog_loop_unwatch(loop);
    assert_int_equal(hangdog_stop(), 0);
    json_t *hangs = spool_wait(&spool, "hang", 1);
    const json_t *hang = json_array_get(hangs, 0);
    assert_string_equal(report_text(json_object_get(hang, "loop"), "scheme"), "ping");
    assert_true(report_blames(hang, block_sleep));
    uint64_t ns = report_ns(hang, "duration_ns");
    print_message("ping: %.3f ms of %.3f ms\n", (double)ns / 1e6, (double)block_ns / 1e6);
    assert_true(SLOW || (ns <= block_ns + 5 * MS && ns + 30 * MS >= block_ns));
    json_decref(hangs);
    spool_expect(&spool, 1);
    run_for(20); /* a ping may still be in the queue */
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_watch, end_watch)
    const struct CMUnitTest tests[] = {
        CASE(an_idle_loop_has_no_hang),
        CASE(an_idle_nested_loop_has_no_hang),
        CASE(a_loop_nested_in_an_observer_has_no_hang),
        CASE(an_idle_initialization_mode_has_no_hang),
        CASE(an_idle_loop_wakes_no_thread),
        CASE(a_loop_that_never_waits_has_turns),
        CASE(a_launch_without_an_end_is_over_after_some_waits),
        CASE(a_turn_allocates_no_memory),
        CASE(no_observer_is_left),
        CASE(nothing_is_watched_before_the_start),
        CASE(a_block_on_another_thread_is_seen),
        CASE(another_thread_is_idle_after_the_exit),
        CASE(another_thread_may_be_busy_after_the_exit),
        CASE(a_watch_may_start_in_a_run),
        cmocka_unit_test_setup_teardown(pings_find_a_block, begin_pings, end_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
