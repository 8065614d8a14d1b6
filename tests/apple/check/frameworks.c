// SPDX-License-Identifier: MIT
// Scenarios of AppKit: the program's state by a notification, frames by a display link. Elsewhere there are
// none.
#include "check.h"

#if defined(__APPLE__) && !defined(CHECK_WITHOUT_LOOPS)

#include <CoreFoundation/CFRunLoop.h>
#include <dlfcn.h>
#include <errno.h>
#include <hangdog/apple.h>
#include <hangdog/cfrunloop.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static volatile long sink;

NOINLINE static void block(void) {
    check_work(CHECK_HANG_MS);
    sink++;
}

static void post(const char *name) {
    void *(*center)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "CFNotificationCenterGetLocalCenter");
    void (*send)(void *, const void *, const void *, const void *, unsigned char) =
        (void (*)(void *, const void *, const void *, const void *, unsigned char))dlsym(
            RTLD_DEFAULT, "CFNotificationCenterPostNotification");
    const void *const *text = dlsym(RTLD_DEFAULT, name);
    if (center != NULL && send != NULL && text != NULL) {
        send(center(), *text, NULL, NULL, 1);
    }
}

static hangdog_cfrunloop *watch_main(void) {
    dlopen("/System/Library/Frameworks/AppKit.framework/AppKit", RTLD_NOW);
    hangdog_cfrunloop *watch = hangdog_cfrunloop_watch("main", 0, HANGDOG_CFRUNLOOP_EXIT_DEFAULT);
    if (watch != NULL) {
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.2, 0);
    }
    return watch;
}

/* A hang after the notification that the program is hidden. */
static int run_state(const char *folder) {
    (void)folder;
    hangdog_cfrunloop *watch = watch_main();
    if (watch == NULL || hangdog_app_follow() != 0) {
        return __LINE__;
    }
    check_function("block", block);
    post("NSApplicationDidHideNotification");
    block();
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.5, 0);
    hangdog_app_unfollow();
    hangdog_cfrunloop_unwatch(watch);
    return 0;
}

/* Frames of a second. */
static int run_frames(const char *folder) {
    (void)folder;
    hangdog_cfrunloop *watch = watch_main();
    int error = watch != NULL ? hangdog_frames_follow(watch->loop) : 0;
    if (watch == NULL || (error != 0 && error != -ENOENT)) {
        return __LINE__;
    }
    if (error == -ENOENT) {
        puts("no display");
    }
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1, 0);
    hangdog_frames_unfollow();
    hangdog_cfrunloop_unwatch(watch);
    return 0;
}

const struct check_scenario check_frameworks[] = {
    {"app-state", run_state},
    {"frames", run_frames},
    {NULL, NULL},
};

#else

const struct check_scenario check_frameworks[] = {{NULL, NULL}};

#endif
