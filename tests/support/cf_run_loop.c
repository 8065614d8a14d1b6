/* SPDX-License-Identifier: MIT
 *
 * A stand-in for CFRunLoop: the run of a loop. It calls observers, timers, sources and blocks in the order
 * that a real CFRunLoop prints: tests/unit/test_cf_run_loop.c has the traces.
 */
#include "cf_run_loop.h"

#include <string.h>
#include <time.h>

CFAbsoluteTime CFAbsoluteTimeGetCurrent(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool cf_serves_main_queue(CFRunLoopRef loop, const struct cf_mode *mode) {
    return loop == CFRunLoopGetMain() && mode->common;
}

/* An observer that is firing is not called again by a run that is nested in its call. */
static void observe(const struct cf_mode *mode, CFRunLoopActivity activity) {
    struct cf_item *due[CF_ITEMS];
    memcpy(due, mode->items[CF_OBSERVER], sizeof due);
    for (unsigned i = 0; i < CF_ITEMS && due[i] != NULL; i++) {
        due[i]->references++;
    }
    for (unsigned i = 0; i < CF_ITEMS && due[i] != NULL; i++) {
        struct __CFRunLoopObserver *o = (struct __CFRunLoopObserver *)due[i];
        if (o->item.valid && !o->firing && (o->activities & activity) != 0) {
            o->firing = true;
            if (!o->repeats) {
                CFRunLoopObserverInvalidate(o);
            }
            o->call(o, activity, o->info);
            o->firing = false;
        }
        CFRelease(o);
    }
}

/* Takes the blocks of a mode out of the list; `mode` NULL: all of them. */
static void take_blocks(CFRunLoopRef loop, struct cf_blocks *from, const struct cf_mode *mode,
                        struct cf_blocks *out) {
    unsigned remaining = 0;
    pthread_mutex_lock(&loop->lock);
    out->count = 0;
    for (unsigned i = 0; i < from->count; i++) {
        const struct cf_block *b = &from->list[i];
        bool common = mode != NULL && mode->common && strcmp(b->mode, "kCFRunLoopCommonModes") == 0;
        bool due = mode == NULL || common || strcmp(b->mode, mode->name) == 0;
        struct cf_blocks *to = due ? out : from;
        to->list[due ? out->count++ : remaining++] = *b;
    }
    from->count = remaining;
    pthread_mutex_unlock(&loop->lock);
}

static void run_blocks(const struct cf_blocks *blocks) {
    for (unsigned i = 0; i < blocks->count; i++) {
        blocks->list[i].run(blocks->list[i].argument);
    }
}

static void do_performed(CFRunLoopRef loop, const struct cf_mode *mode) {
    struct cf_blocks due;
    take_blocks(loop, &loop->performed, mode, &due);
    run_blocks(&due);
}

static bool do_sources(const struct cf_mode *mode) {
    struct cf_item *due[CF_ITEMS];
    bool handled = false;
    memcpy(due, mode->items[CF_SOURCE], sizeof due);
    for (unsigned i = 0; i < CF_ITEMS && due[i] != NULL; i++) {
        struct __CFRunLoopSource *s = (struct __CFRunLoopSource *)due[i];
        if (s->item.valid && atomic_exchange(&s->signalled, false)) {
            handled = true;
            s->context.perform(s->context.info);
        }
    }
    return handled;
}

static struct __CFRunLoopTimer *next_timer(const struct cf_mode *mode) {
    struct __CFRunLoopTimer *next = NULL;
    for (unsigned i = 0; i < CF_ITEMS && mode->items[CF_TIMER][i] != NULL; i++) {
        struct __CFRunLoopTimer *t = (struct __CFRunLoopTimer *)mode->items[CF_TIMER][i];
        if (!t->firing && (next == NULL || t->at < next->at)) {
            next = t;
        }
    }
    return next;
}

static void do_timers(const struct cf_mode *mode) {
    CFAbsoluteTime now = CFAbsoluteTimeGetCurrent();
    for (struct __CFRunLoopTimer *t; (t = next_timer(mode)) != NULL && t->at <= now;) {
        t->item.references++;
        t->firing = true;
        if (t->interval > 0) {
            t->at = now + t->interval;
        }
        t->call(t, t->info);
        t->firing = false;
        if (t->interval <= 0) {
            CFRunLoopTimerInvalidate(t);
        }
        CFRelease(t);
    }
}

enum cf_reason {
    CF_NOTHING,
    CF_WOKEN,
    CF_TIMERS,
    CF_MAIN_QUEUE
};

/* Returns the first reason for which the loop need not wait. Under the loop's lock. */
static enum cf_reason reason_of(CFRunLoopRef loop, const struct cf_mode *mode) {
    const struct __CFRunLoopTimer *t = next_timer(mode);
    return loop->woken                                                    ? CF_WOKEN
           : t != NULL && t->at <= CFAbsoluteTimeGetCurrent()             ? CF_TIMERS
           : cf_serves_main_queue(loop, mode) && cf_main.blocks.count > 0 ? CF_MAIN_QUEUE
                                                                          : CF_NOTHING;
}

/* Waits for a reason until `until`; an `until` in earlier times only looks. */
static enum cf_reason wait_for_reason(CFRunLoopRef loop, const struct cf_mode *mode, CFAbsoluteTime until) {
    enum cf_reason reason;
    pthread_mutex_lock(&loop->lock);
    while ((reason = reason_of(loop, mode)) == CF_NOTHING && CFAbsoluteTimeGetCurrent() < until) {
        const struct __CFRunLoopTimer *t = next_timer(mode);
        cf_wait(loop, t != NULL && t->at < until ? t->at : until);
    }
    if (reason == CF_WOKEN) {
        loop->woken = false;
    }
    pthread_mutex_unlock(&loop->lock);
    return reason;
}

static bool main_queue_is_due(CFRunLoopRef loop, const struct cf_mode *mode) {
    pthread_mutex_lock(&loop->lock);
    bool due = cf_serves_main_queue(loop, mode) && cf_main.blocks.count > 0;
    pthread_mutex_unlock(&loop->lock);
    return due;
}

static bool take_stop(CFRunLoopRef loop) {
    pthread_mutex_lock(&loop->lock);
    bool stopped = loop->stopped;
    loop->stopped = false;
    pthread_mutex_unlock(&loop->lock);
    return stopped;
}

/* The main queue keeps its mode alive, observers do not. */
static bool is_empty(CFRunLoopRef loop, const struct cf_mode *mode) {
    return mode->items[CF_SOURCE][0] == NULL && mode->items[CF_TIMER][0] == NULL &&
           !cf_serves_main_queue(loop, mode);
}

/* The main queue is not looked at in two passes in a row, nor in the first one: it may not starve the rest.
 */
static CFRunLoopRunResult run_mode(CFRunLoopRef loop, const struct cf_mode *mode, CFTimeInterval seconds,
                                   bool one_source) {
    CFAbsoluteTime until = CFAbsoluteTimeGetCurrent() + seconds;
    bool served_main_queue = true;
    for (;;) {
        enum cf_reason reason = CF_MAIN_QUEUE;
        observe(mode, kCFRunLoopBeforeTimers);
        observe(mode, kCFRunLoopBeforeSources);
        do_performed(loop, mode);
        bool handled = do_sources(mode);
        if (handled) {
            do_performed(loop, mode);
        }
        bool waits = !handled && seconds > 0;
        if (served_main_queue || !main_queue_is_due(loop, mode)) {
            if (waits) {
                observe(mode, kCFRunLoopBeforeWaiting);
            }
            reason = wait_for_reason(loop, mode, waits ? until : 0);
            if (waits) {
                observe(mode, kCFRunLoopAfterWaiting);
            }
        }
        served_main_queue = reason == CF_MAIN_QUEUE;
        if (reason == CF_TIMERS) {
            do_timers(mode);
        } else if (served_main_queue) {
            struct cf_blocks due;
            take_blocks(loop, &cf_main.blocks, NULL, &due);
            run_blocks(&due);
        }
        do_performed(loop, mode);
        if (handled && one_source) {
            return kCFRunLoopRunHandledSource;
        }
        if (CFAbsoluteTimeGetCurrent() >= until) {
            return kCFRunLoopRunTimedOut;
        }
        if (take_stop(loop)) {
            return kCFRunLoopRunStopped;
        }
        if (is_empty(loop, mode)) {
            return kCFRunLoopRunFinished;
        }
    }
}

CFRunLoopRunResult CFRunLoopRunInMode(CFStringRef name, CFTimeInterval seconds,
                                      Boolean returnAfterSourceHandled) {
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    struct cf_mode *mode = cf_mode_of(loop, name), *outer = loop->current;
    if (is_empty(loop, mode)) {
        return kCFRunLoopRunFinished;
    }
    loop->current = mode;
    observe(mode, kCFRunLoopEntry);
    CFRunLoopRunResult result = run_mode(loop, mode, seconds, returnAfterSourceHandled);
    observe(mode, kCFRunLoopExit);
    loop->current = outer;
    return result;
}

void CFRunLoopRun(void) {
    CFRunLoopRunResult result;
    do {
        result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, false);
    } while (result != kCFRunLoopRunStopped && result != kCFRunLoopRunFinished);
}
