/* SPDX-License-Identifier: MIT
 *
 * The names of CoreFoundation that hangdog/cfrunloop.h uses are names of pointers here.
 */
#include "preload/darwin/run_loop.h"

#include <CoreFoundation/CFRunLoop.h>
#include <CoreFoundation/CFString.h>
#include <dlfcn.h>
#include <pthread.h>

static struct core_foundation {
    __typeof__(CFRunLoopGetCurrent) *get_current;
    __typeof__(CFRunLoopGetMain) *get_main;
    __typeof__(CFRunLoopCopyCurrentMode) *copy_mode;
    __typeof__(CFRunLoopObserverCreate) *create;
    __typeof__(CFRunLoopObserverInvalidate) *invalidate;
    __typeof__(CFRunLoopAddObserver) *add;
    __typeof__(CFRelease) *release;
    const CFStringRef *common_modes;
} cf;

/* No app of UIKit has an inserted library, so its initialization mode needs no string. */
#undef CFSTR
#define CFSTR(text) NULL
#define CFRunLoopGetCurrent cf.get_current
#define CFRunLoopGetMain cf.get_main
#define CFRunLoopCopyCurrentMode cf.copy_mode
#define CFRunLoopObserverCreate cf.create
#define CFRunLoopObserverInvalidate cf.invalidate
#define CFRunLoopAddObserver cf.add
#define CFRelease cf.release
#define kCFRunLoopCommonModes (*cf.common_modes)

#include "hangdog/cfrunloop.h"

static struct hd_main_waits *main_waits;
static hangdog_cfrunloop watch;

static bool look_up(void) {
    static const char *const names[] = {"CFRunLoopGetCurrent",
                                        "CFRunLoopGetMain",
                                        "CFRunLoopCopyCurrentMode",
                                        "CFRunLoopObserverCreate",
                                        "CFRunLoopObserverInvalidate",
                                        "CFRunLoopAddObserver",
                                        "CFRelease",
                                        "kCFRunLoopCommonModes"};
    typedef void *__attribute__((may_alias)) pointer;
    pointer *to = (pointer *)(void *)&cf;
    _Static_assert(sizeof cf == sizeof names, "a name for each");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        to[i] = dlsym(RTLD_DEFAULT, names[i]);
        if (to[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* In the first run of the main loop. A program that serves its main queue by dispatch_main() runs this on
 * another thread, and has no run loop. The launch ends at the loop's first wait. */
static void observe(void *unused) {
    (void)unused;
    if (pthread_main_np() == 0 || CFRunLoopGetCurrent() != CFRunLoopGetMain()) {
        return;
    }
    hd_main_waits_leave(main_waits);
    watch.loop = (hangdog_loop *)(void *)main_waits->watch;
    hangdog_cfrunloop_observe(&watch, 0, hangdog_cfrunloop_first, kCFRunLoopCommonModes);
    hangdog_cfrunloop_observe(&watch, 1, hangdog_cfrunloop_last, kCFRunLoopCommonModes);
}

void hd_run_loop_expect(struct hd_main_waits *waits) {
    void (*async)(void *queue, void *context, void (*work)(void *)) =
        (void (*)(void *, void *, void (*)(void *)))dlsym(RTLD_DEFAULT, "dispatch_async_f");
    void *queue = dlsym(RTLD_DEFAULT, "_dispatch_main_q");
    main_waits = waits;
    if (look_up() && async != NULL && queue != NULL) {
        async(queue, NULL, observe);
    }
}
