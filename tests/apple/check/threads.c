// SPDX-License-Identifier: MIT
// Scenarios of threads, locks and signals.
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define THREADS 200
#define BURNERS 4 /* together they have 80 % of a CPU, also on a busy machine */

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static volatile int over;
static volatile long sink;
static volatile uintptr_t nowhere = 8;

NOINLINE static void spin(void) {
    check_work(CHECK_HANG_MS);
    sink++;
}

NOINLINE static void sleep_long(void) {
    check_sleep(CHECK_HANG_MS);
    sink++;
}

NOINLINE static void take_lock(void) {
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    sink++;
}

NOINLINE static void allocate_and_free(void) {
    void *blocks[64];
    for (unsigned k = 0; k < 64; k++) {
        blocks[k] = malloc(16 + 64 * k);
    }
    for (unsigned k = 0; k < 64; k++) {
        free(blocks[k]);
    }
    sink++;
}

/* The thread has malloc's lock in many samples. */
NOINLINE static void allocate(void) {
    check_repeat(CHECK_HANG_MS, allocate_and_free);
    sink++;
}

NOINLINE static void load_images(void) {
#ifdef __APPLE__
    const char *path = "/usr/lib/libsqlite3.dylib";
#else
    const char *path = "libz.so.1";
#endif
    for (int i = 0; i < 20; i++) {
        void *image = dlopen(path, RTLD_NOW);
        check_work(CHECK_HANG_MS / 20);
        if (image != NULL) {
            dlclose(image);
        }
    }
    sink++;
}

static int one_turn(const char *name, void (*work)(void)) {
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    if (loop == NULL) {
        return __LINE__;
    }
    check_function(name, work);
    check_turn(loop, work);
    hangdog_loop_unwatch(loop);
    return 0;
}

static int run_hang(const char *folder) {
    (void)folder;
    return one_turn("spin", spin);
}

static int run_sleep(const char *folder) {
    (void)folder;
    return one_turn("sleep_long", sleep_long);
}

static int run_malloc(const char *folder) {
    (void)folder;
    return one_turn("allocate", allocate);
}

static int run_images(const char *folder) {
    (void)folder;
    return one_turn("load_images", load_images);
}

static int run_idle(const char *folder) {
    (void)folder;
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    for (int i = 0; i < 3; i++) {
        hangdog_before_wait(loop);
        check_sleep(1000);
        hangdog_after_wait(loop);
    }
    hangdog_loop_unwatch(loop);
    return 0;
}

static void *lock_for_long(void *argument) {
    pthread_mutex_lock(&one);
    *(volatile int *)argument = 1;
    check_sleep(100 + CHECK_HANG_MS);
    pthread_mutex_unlock(&one);
    return NULL;
}

static int run_lock(const char *folder) {
    (void)folder;
    volatile int locked = 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, lock_for_long, (void *)&locked) != 0) {
        return __LINE__;
    }
    while (!locked) {
        check_sleep(1);
    }
    int fault = one_turn("take_lock", take_lock);
    pthread_join(thread, NULL);
    return fault;
}

static void *deadlock(void *argument) {
    hangdog_loop *loop = hangdog_loop_watch("second", 0);
    pthread_mutex_lock(&other);
    *(volatile int *)argument = 1;
    check_sleep(100);
    hangdog_after_wait(loop);
    pthread_mutex_lock(&one);
    return NULL;
}

static const char *report_folder;

/* The two threads never end, so the process does. */
static void *report_and_exit(void *argument) {
    (void)argument;
    check_sleep(1500);
    int fault = check_live_report(report_folder);
    hangdog_stop();
    _exit(fault != 0);
}

static int run_deadlock(const char *folder) {
    volatile int locked = 0;
    pthread_t thread;
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    report_folder = folder;
    pthread_mutex_lock(&one);
    pthread_create(&thread, NULL, deadlock, (void *)&locked);
    pthread_create(&thread, NULL, report_and_exit, NULL);
    while (!locked) {
        check_sleep(1);
    }
    hangdog_after_wait(loop);
    pthread_mutex_lock(&other);
    return __LINE__;
}

static void *rest(void *argument) {
    (void)argument;
    while (!over) {
        check_sleep(20);
    }
    return NULL;
}

static int run_threads(const char *folder) {
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], &small, rest, NULL) != 0) {
            return __LINE__;
        }
    }
    int fault = check_live_report(folder);
    over = 1;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return fault;
}

NOINLINE static void fault(void) {
    *(volatile int *)nowhere = 1;
    sink++;
}

static int run_crash(const char *folder) {
    (void)folder;
    return one_turn("fault", fault);
}

static void *burn(void *argument) {
    (void)argument;
    spin();
    spin();
    spin();
    return NULL;
}

static int run_cpu(const char *folder) {
    (void)folder;
    pthread_t threads[BURNERS];
    check_function("spin", spin);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    hangdog_before_wait(loop);
    for (unsigned i = 0; i < BURNERS; i++) {
        if (pthread_create(&threads[i], NULL, burn, NULL) != 0) {
            return __LINE__;
        }
    }
    for (unsigned i = 0; i < BURNERS; i++) {
        pthread_join(threads[i], NULL);
    }
    hangdog_loop_unwatch(loop);
    return 0;
}

const struct check_scenario check_threads[] = {
    {"idle", run_idle},         {"hang", run_hang},     {"sleep", run_sleep},   {"lock", run_lock},
    {"deadlock", run_deadlock}, {"malloc", run_malloc}, {"images", run_images}, {"threads", run_threads},
    {"cpu", run_cpu},           {"crash", run_crash},   {NULL, NULL},
};
