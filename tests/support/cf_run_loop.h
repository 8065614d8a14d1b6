/* SPDX-License-Identifier: MIT
 *
 * The structures of the stand-in for CFRunLoop, for its files only. Each kind of item has a fixed number of
 * places in a mode: a test has few. The files serve Linux, and programs for macOS in the loader of
 * tests/apple.
 */
#ifndef TEST_CF_RUN_LOOP_PARTS_H
#define TEST_CF_RUN_LOOP_PARTS_H

#include <CoreFoundation/CFRunLoop.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define CF_MODES 8
#define CF_ITEMS 16

/* The layout of a constant string that clang makes for CFSTR on Apple's systems. */
struct __CFString {
    const void *type;
    uint64_t flags;
    const char *text;
    long length;
};

enum cf_kind {
    CF_OBSERVER,
    CF_SOURCE,
    CF_TIMER,
    CF_KINDS
};

/* The common part of observers, sources and timers: the first member of each. */
struct cf_item {
    const void *type; /* cf_item_type: the item is no string, which has its own type here */
    int references;
    bool valid;
    CFIndex order;
    CFRunLoopRef loop; /* NULL: no loop has the item yet */
};

struct __CFRunLoopObserver {
    struct cf_item item;
    CFOptionFlags activities;
    bool repeats, firing;
    CFRunLoopObserverCallBack call;
    void *info;
};

struct __CFRunLoopSource {
    struct cf_item item;
    atomic_bool signalled;
    CFRunLoopSourceContext context;
};

struct __CFRunLoopTimer {
    struct cf_item item;
    CFAbsoluteTime at;
    CFTimeInterval interval;
    bool firing;
    CFRunLoopTimerCallBack call;
    void *info;
};

struct cf_mode {
    const char *name; /* NULL: a free place */
    bool common;
    struct cf_item *items[CF_KINDS][CF_ITEMS]; /* by order, equal ones in the order of their adding */
};

struct cf_block {
    void (*run)(void *);
    void *argument;
    const char *mode;
};

/* Blocks that wait, oldest first. The lock of the loop guards them. */
struct cf_blocks {
    struct cf_block list[CF_ITEMS];
    unsigned count;
};

struct __CFRunLoop {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool woken, stopped; /* by CFRunLoopWakeUp and CFRunLoopStop; the lock guards both */
    struct cf_mode modes[CF_MODES];
    struct cf_item *common[CF_KINDS][CF_ITEMS];
    struct cf_blocks performed; /* of cf_perform */
    struct cf_mode *current;    /* NULL: the loop does not run */
};

struct cf_main_queue {
    struct cf_blocks blocks; /* the lock of the main loop guards them */
};

extern struct cf_main_queue cf_main;

#define CF_NEED(condition)  \
    do {                    \
        if (!(condition)) { \
            abort();        \
        }                   \
    } while (0)

bool cf_is_main_thread(void);
void cf_init_wait(CFRunLoopRef loop);
/* Waits for a change of the loop, under the loop's lock, until `until` of CFAbsoluteTimeGetCurrent. */
void cf_wait(CFRunLoopRef loop, CFAbsoluteTime until);
void cf_add_to_main_queue(void (*run)(void *), void *argument);

/* The mode of that name, which is made if there is none. */
struct cf_mode *cf_mode_of(CFRunLoopRef loop, CFStringRef name);
bool cf_serves_main_queue(CFRunLoopRef loop, const struct cf_mode *mode);

#endif
