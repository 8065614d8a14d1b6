/* SPDX-License-Identifier: MIT
 *
 * For tests of the adapter to CFRunLoop: the main loop of the stand-in under watch, with blocks of 700 ms
 * above a threshold of 300 ms. Included after cmocka.h.
 */
#ifndef TEST_CF_WATCH_H
#define TEST_CF_WATCH_H

#include <CoreFoundation/CFRunLoop.h>
#include <stdbool.h>

/* In place of hangdog_app_launches(), which Linux has not. */
static bool app_launches;
#define HANGDOG_CFRUNLOOP_APP_LAUNCHES() app_launches
#include <hangdog/cfrunloop.h>
#include <stdio.h>

#include "library.h"

#define CF_THRESHOLD_MS 300
#define BLOCK_MS 700
#define TRIES 3 /* a machine with too much to do delays a thread between our two clocks */

static hangdog_cfrunloop *watch;
static uint64_t block_ns; /* how long the last block took, by its own clock */

static inline void start_with_pings_each(uint64_t ms) {
    hangdog_options options = library_options(&spool);
    for (unsigned i = 0; i < HANGDOG_STATES; i++) {
        options.threshold_ns[i] = CF_THRESHOLD_MS * MS;
    }
    options.ping_period_ns = ms * MS;
    assert_int_equal(hangdog_start(&options), 0);
}

static inline int begin_watch_of(hangdog_cfrunloop_exit outermost) {
    begin_spool(NULL);
    start_with_pings_each(20);
    watch = hangdog_cfrunloop_watch("main", 0, outermost);
    assert_non_null(watch);
    return 0;
}

static inline int begin_watch(void **state) {
    (void)state;
    return begin_watch_of(HANGDOG_CFRUNLOOP_EXIT_DEFAULT);
}

static inline int end_watch(void **state) {
    hangdog_cfrunloop_unwatch(watch);
    watch = NULL;
    return end_library(state);
}

static inline void run_for(uint64_t ms) {
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, (double)ms / 1000, false);
}

static inline void do_block(void) {
    uint64_t from_ns = now_ns();
    block_sleep(BLOCK_MS);
    block_ns = now_ns() - from_ns;
}

static inline void block_in_timer(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    do_block();
}

static inline void after_ms(uint64_t ms, CFStringRef mode, CFRunLoopTimerCallBack call) {
    CFRunLoopTimerRef timer =
        CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + (double)ms / 1000, 0, 0, 0, call, NULL);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, mode);
    CFRelease(timer);
}

/* Ends the watch and the run. Returns by how many ns the only report of `kind` differs from `truth_ns`. */
static inline uint64_t report_error_ns(const char *kind, uint64_t truth_ns) {
    hangdog_cfrunloop_unwatch(watch);
    watch = NULL;
    assert_int_equal(hangdog_stop(), 0);
    json_t *reports = spool_wait(&spool, kind, 1);
    const json_t *report = json_array_get(reports, 0);
    assert_true(report_blames(report, block_sleep));
    uint64_t ns = report_ns(report, "duration_ns");
    json_decref(reports);
    spool_expect(&spool, 1);
    return ns > truth_ns ? ns - truth_ns : truth_ns - ns;
}

/* Does `scenario` under watch until its only report differs from its block by at most 1 ms. */
static inline void see_block_of_kind(const char *name, const char *kind, bool launched,
                                     void (*scenario)(void)) {
    uint64_t error_ns = UINT64_MAX;
    for (unsigned i = 0; i < TRIES && error_ns > MS; i++) {
        if (i > 0) {
            end_watch(NULL);
            begin_watch(NULL);
        }
        if (launched) {
            run_for(20);
        }
        scenario();
        error_ns = report_error_ns(kind, block_ns);
    }
    print_message("%s: %.3f ms, seen with an error of %.3f ms\n", name, (double)block_ns / 1e6,
                  (double)error_ns / 1e6);
    assert_true(error_ns <= MS || SLOW);
}

static inline void see_block(const char *name, void (*scenario)(void)) {
    see_block_of_kind(name, "hang", true, scenario);
}

#endif
