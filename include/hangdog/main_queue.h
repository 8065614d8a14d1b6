/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for Apple's main dispatch queue: pings, for a program that cannot observe its run loop.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_loop *loop = hangdog_main_queue_watch("main", 0);
 * dispatch_main();
 * @endcode
 *
 * Where the main thread runs a CFRunLoop, use hangdog/cfrunloop.h instead: it wakes no idle loop, and dates
 * each hang to its start.
 */
#ifndef HANGDOG_MAIN_QUEUE_H
#define HANGDOG_MAIN_QUEUE_H

#include <dispatch/dispatch.h>

#include "hangdog/hangdog.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Posts a task to the main queue: a hangdog_post for hangdog_watch_ping(). Any thread may call this function.
 *
 * @param context Not used.
 * @param run The function that the main thread calls.
 * @param argument The argument of that call.
 * @return 0.
 */
static inline int hangdog_main_queue_post(void *context, void (*run)(void *argument), void *argument) {
    (void)context;
    dispatch_async_f(dispatch_get_main_queue(), argument, run);
    return 0;
}

/**
 * Watches the main thread by pings to the main queue: hangdog_loop_watch() and hangdog_watch_ping(). The main
 * thread calls this function, and hangdog_loop_unwatch() at the end. A nested run loop in a private mode runs
 * no blocks of the main queue, so it counts as a hang.
 *
 * @param name The loop's name in reports; the function copies the name.
 * @param threshold_ns The loop's threshold in the foreground state, in nanoseconds; 0: that of
 * hangdog_options.
 * @return The handle. NULL: Hangdog does not run, 256 loops are watched already, there is not enough memory,
 * or the system cannot create a thread.
 */
static inline hangdog_loop *hangdog_main_queue_watch(const char *name, uint64_t threshold_ns) {
    hangdog_loop *loop = hangdog_loop_watch(name, threshold_ns);
    if (loop != NULL && hangdog_watch_ping(loop, hangdog_main_queue_post, NULL) != 0) {
        hangdog_loop_unwatch(loop);
        loop = NULL;
    }
    return loop;
}

#ifdef __cplusplus
}
#endif
#endif
