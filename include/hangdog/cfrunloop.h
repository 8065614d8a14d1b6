/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for Apple's CFRunLoop: two observers mark the turns of a run loop.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_cfrunloop *watch = hangdog_cfrunloop_watch("main", 0, HANGDOG_CFRUNLOOP_EXIT_DEFAULT);
 * CFRunLoopRun();
 * hangdog_cfrunloop_unwatch(watch);
 * @endcode
 *
 * The functions are inline, so that the library needs no CoreFoundation. The program includes this header in
 * C, C++, Objective-C or Swift, and links CoreFoundation itself.
 */
#ifndef HANGDOG_CFRUNLOOP_H
#define HANGDOG_CFRUNLOOP_H

#include <CoreFoundation/CFRunLoop.h>
#include <CoreFoundation/CFString.h>
#include <limits.h>
#include <stdlib.h>

#include "hangdog/apple.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The meaning of the outermost exit of a run loop: of an exit that leaves no other run of the loop. */
typedef enum hangdog_cfrunloop_exit {
    /** `BUSY` for the main loop, `IDLE` for the loop of another thread. */
    HANGDOG_CFRUNLOOP_EXIT_DEFAULT = 0,
    /** The thread handles an event after the exit: a turn starts. An AppKit program takes each event from a
     * run that exits, and handles the event without a run loop on the stack. */
    HANGDOG_CFRUNLOOP_EXIT_BUSY = 1,
    /** The thread leaves the loop and may wait in other calls: the loop is idle. */
    HANGDOG_CFRUNLOOP_EXIT_IDLE = 2,
} hangdog_cfrunloop_exit;

/** The number of a loop's exits and waits after which its launch is over. A game that runs its loop with a
 * timeout of 0 never waits. A program that runs no UIApplication or NSApplication never finishes its launch.
 */
#define HANGDOG_CFRUNLOOP_PUMPS 100u

/** A watched run loop. Only the functions of this header use the members. */
typedef struct hangdog_cfrunloop {
    hangdog_loop *loop; /**< The handle, for the other functions of Hangdog. */
    /** The first and the last observer of the common modes, then those of UIKit's initialization mode. */
    CFRunLoopObserverRef observers[4];
    unsigned depth;  /**< The number of runs that are nested in each other now. */
    unsigned pumped; /**< The number of exits and waits during the launch. */
    int launched;    /**< Not 0: the launch is over. */
    int blocked;     /**< Not 0: the loop waits, and its launch continues. */
    int exit_idles;  /**< Not 0: the outermost exit makes the loop idle. */
} hangdog_cfrunloop;

/** @cond */
/* Linux has CoreFoundation too, but no apps. */
#ifndef HANGDOG_CFRUNLOOP_APP_LAUNCHES
#ifdef __APPLE__
#define HANGDOG_CFRUNLOOP_APP_LAUNCHES() hangdog_app_launches()
#else
#define HANGDOG_CFRUNLOOP_APP_LAUNCHES() 0
#endif
#endif

/* A mark of AFTER_WAITING ends the launch, and only a wait may do that. So the launch continues here. */
static inline void hangdog_cfrunloop_turn(hangdog_cfrunloop *watch) {
    if (watch->launched) {
        hangdog_mark(watch->loop, HANGDOG_AFTER_WAITING);
    }
}

static inline void hangdog_cfrunloop_enter(hangdog_cfrunloop *watch) {
    if (watch->depth++ == 0 && !watch->exit_idles) {
        hangdog_cfrunloop_turn(watch);
    } else {
        hangdog_mark(watch->loop, HANGDOG_ENTRY);
    }
}

static inline void hangdog_cfrunloop_leave(hangdog_cfrunloop *watch) {
    watch->depth -= watch->depth > 0;
    if (watch->depth > 0 || watch->exit_idles) {
        hangdog_mark(watch->loop, HANGDOG_EXIT);
        return;
    }
    watch->launched |= ++watch->pumped >= HANGDOG_CFRUNLOOP_PUMPS;
    hangdog_cfrunloop_turn(watch);
}

/* The marks that the first observer stores in each mode. */
static inline void hangdog_cfrunloop_mark(hangdog_cfrunloop *watch, CFRunLoopActivity activity) {
    if (activity == kCFRunLoopEntry) {
        hangdog_cfrunloop_enter(watch);
    } else if (activity == kCFRunLoopBeforeTimers) {
        hangdog_mark(watch->loop, HANGDOG_BEFORE_TIMERS);
    } else if (activity == kCFRunLoopBeforeSources) {
        hangdog_mark(watch->loop, HANGDOG_BEFORE_SOURCES);
    }
}

static inline void hangdog_cfrunloop_first(CFRunLoopObserverRef observer, CFRunLoopActivity activity,
                                           void *info) {
    hangdog_cfrunloop *watch = (hangdog_cfrunloop *)info;
    (void)observer;
    if (activity != kCFRunLoopAfterWaiting) {
        hangdog_cfrunloop_mark(watch, activity);
    } else if (watch->blocked) {
        watch->blocked = 0;
        hangdog_expect_block_end(watch->loop);
    } else {
        hangdog_mark(watch->loop, HANGDOG_AFTER_WAITING);
    }
}

/* Marks a wait during which the launch continues: a block that the program expects. Such a block ends a turn
 * but not the launch. */
static inline void hangdog_cfrunloop_block(hangdog_cfrunloop *watch) {
    watch->blocked = 1;
    hangdog_expect_block(watch->loop);
}

/* Only the last observer may mark the wait: an observer before it may work, or run a nested loop. */
static inline void hangdog_cfrunloop_last(CFRunLoopObserverRef observer, CFRunLoopActivity activity,
                                          void *info) {
    hangdog_cfrunloop *watch = (hangdog_cfrunloop *)info;
    (void)observer;
    if (activity != kCFRunLoopBeforeWaiting) {
        hangdog_cfrunloop_leave(watch);
    } else if (!watch->launched && HANGDOG_CFRUNLOOP_APP_LAUNCHES() &&
               ++watch->pumped < HANGDOG_CFRUNLOOP_PUMPS) {
        hangdog_cfrunloop_block(watch);
    } else {
        watch->launched = 1;
        hangdog_mark(watch->loop, HANGDOG_BEFORE_WAITING);
    }
}

/* In the initialization mode UIKit waits for the system, and the launch continues. */
static inline void hangdog_cfrunloop_launch_last(CFRunLoopObserverRef observer, CFRunLoopActivity activity,
                                                 void *info) {
    hangdog_cfrunloop *watch = (hangdog_cfrunloop *)info;
    (void)observer;
    if (activity == kCFRunLoopBeforeWaiting) {
        hangdog_cfrunloop_block(watch);
    } else {
        hangdog_cfrunloop_leave(watch);
    }
}

static inline void hangdog_cfrunloop_observe(hangdog_cfrunloop *watch, unsigned index,
                                             CFRunLoopObserverCallBack call, CFStringRef mode) {
    CFRunLoopObserverContext context = {0, watch, NULL, NULL, NULL};
    int first = index % 2 == 0;
    CFOptionFlags activities = first ? (CFOptionFlags)kCFRunLoopEntry | kCFRunLoopBeforeTimers |
                                           kCFRunLoopBeforeSources | kCFRunLoopAfterWaiting
                                     : (CFOptionFlags)kCFRunLoopBeforeWaiting | kCFRunLoopExit;
    watch->observers[index] =
        CFRunLoopObserverCreate(NULL, activities, 1, first ? LONG_MIN : LONG_MAX, call, &context);
    if (watch->observers[index] != NULL) {
        CFRunLoopAddObserver(CFRunLoopGetCurrent(), watch->observers[index], mode);
    }
}
/** @endcond */

/**
 * Ends the watch of a run loop. Only the thread that called hangdog_cfrunloop_watch() may call this function,
 * once, even after hangdog_stop().
 *
 * @param watch The watch; NULL: the function does nothing.
 */
static inline void hangdog_cfrunloop_unwatch(hangdog_cfrunloop *watch) {
    if (watch == NULL) {
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        if (watch->observers[i] != NULL) {
            CFRunLoopObserverInvalidate(watch->observers[i]);
            CFRelease(watch->observers[i]);
        }
    }
    hangdog_loop_unwatch(watch->loop);
    free(watch);
}

/**
 * Watches the run loop of the calling thread: hangdog_loop_watch() and two observers in the common modes. The
 * main loop has two more in UIKit's initialization mode. Waits in that mode do not end the launch. Call this
 * function early, so that its observer is the first of all.
 *
 * A nested run in a common mode has turns of its own. A nested run in another mode has no observers and
 * belongs to the turn, because the user waits for it. A mode that becomes common later has the observers.
 *
 * @param name The loop's name in reports; the function copies the name.
 * @param threshold_ns The loop's threshold in the foreground state, in nanoseconds; 0: that of
 * hangdog_options.
 * @param outermost The meaning of the loop's outermost exit.
 * @return The watch. NULL: Hangdog does not run, 256 loops are watched already, or there is not enough
 * memory.
 */
static inline hangdog_cfrunloop *hangdog_cfrunloop_watch(const char *name, uint64_t threshold_ns,
                                                         hangdog_cfrunloop_exit outermost) {
    int main_loop = CFRunLoopGetCurrent() == CFRunLoopGetMain();
    hangdog_cfrunloop *watch = (hangdog_cfrunloop *)calloc(1, sizeof *watch);
    hangdog_loop *loop = watch != NULL ? hangdog_loop_watch(name, threshold_ns) : NULL;
    if (loop == NULL) {
        free(watch);
        return NULL;
    }
    watch->loop = loop;
    watch->exit_idles = outermost == HANGDOG_CFRUNLOOP_EXIT_IDLE ||
                        (outermost == HANGDOG_CFRUNLOOP_EXIT_DEFAULT && !main_loop);
    CFStringRef mode = watch->exit_idles ? CFRunLoopCopyCurrentMode(CFRunLoopGetCurrent()) : NULL;
    if (mode != NULL) { /* The caller is in a run. So the next entry is that of a nested loop. */
        hangdog_mark(loop, HANGDOG_BEFORE_TIMERS);
        CFRelease(mode);
    }
    hangdog_cfrunloop_observe(watch, 0, hangdog_cfrunloop_first, kCFRunLoopCommonModes);
    hangdog_cfrunloop_observe(watch, 1, hangdog_cfrunloop_last, kCFRunLoopCommonModes);
    if (main_loop) {
        hangdog_cfrunloop_observe(watch, 2, hangdog_cfrunloop_first, CFSTR("UIInitializationRunLoopMode"));
        hangdog_cfrunloop_observe(watch, 3, hangdog_cfrunloop_launch_last,
                                  CFSTR("UIInitializationRunLoopMode"));
    }
    return watch;
}

#ifdef __cplusplus
}
#endif
#endif
