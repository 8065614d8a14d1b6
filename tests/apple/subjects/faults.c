/* SPDX-License-Identifier: MIT
 *
 * Each call of Mach fails once in turn, early and late in a hang, with each error that the kernel gives. The
 * program must not end, no thread may stay suspended, and the next hang must have its report. Only in the
 * loader: a Mac's kernel does not fail to order.
 */
#include <pthread.h>

#include "watched.h"

static const char *const calls[] = {
    "_thread_suspend",   "_thread_resume",   "_thread_get_state",    "_vm_read_overwrite",
    "_thread_info",      "_task_threads",    "_task_info",           "_mach_port_deallocate",
    "_semaphore_signal", "_semaphore_wait",  "_semaphore_timedwait", "_vm_deallocate",
    "_mach_thread_self", "_task_policy_get", "_semaphore_create",    "_semaphore_destroy",
};
static const struct {
    int code;
    const char *name;
} errors[] = {{37, "KERN_TERMINATED"}, {1, "KERN_INVALID_ADDRESS"}, {4, "KERN_INVALID_ARGUMENT"}};

static volatile unsigned beats;
static volatile int stop;

static void *beat(void *arg) {
    while (!stop) {
        beats++;
        nap_ms(2);
    }
    return arg;
}

static void hang(unsigned ms) {
    spin_ms(ms);
}

static uint64_t hangs_so_far(void) {
    hangdog_totals totals = {.size = sizeof totals};
    hangdog_stats(&totals);
    return totals.hangs;
}

/* The monitor counts a hang a little after its end. */
static uint64_t wait_for_hangs(uint64_t hangs) {
    for (int i = 0; i < 100 && hangs_so_far() < hangs; i++) {
        nap_ms(10);
    }
    return hangs_so_far();
}

static unsigned
    lost; /* hangs in which a call failed, and that were not seen: a lost wake-up of the monitor */

/* One call fails in a hang; `nth` says which call of that name. The hang after it must be seen. */
static unsigned try(int (*fail)(const char *, int, uint64_t), int (*failed)(void), const char *call, int code,
                    int nth) {
    int before = failed();
    uint64_t hangs = hangs_so_far();
    CHECK(fail(call, nth, (uint64_t)code));
    unsigned beats_before = beats;
    watched_turn(hang, 100);
    unsigned done = (unsigned)(failed() - before);
    watched_turn(hang, 100);
    uint64_t seen = wait_for_hangs(hangs + 2) - hangs;
    lost += seen == 1;
    if (seen == 0 || beats - beats_before < 10) {
        printf("FAILED: after %s with error %d: %llu hangs, %u beats\n", call, code, seen,
               beats - beats_before);
        failed_checks++;
    }
    return done;
}

/* A call fails while the library starts or watches the loop. The start may fail; the next one must not. */
static unsigned try_start(int (*fail)(const char *, int, uint64_t), int (*failed)(void), const char *call,
                          const char *spool, hangdog_options *o) {
    int before = failed();
    hangdog_loop_unwatch(watched_loop);
    CHECK_EQUAL(0, hangdog_stop());
    CHECK(fail(call, 1, strcmp(call, "_mach_thread_self") ? KERN_FAILURE : MACH_PORT_NULL));
    if (hangdog_start(o) != 0) {
        printf("the start fails with %s\n", call + 1);
    } else {
        watched_loop = hangdog_loop_watch("main", 0);
        hangdog_loop_unwatch(watched_loop);
        CHECK_EQUAL(0, hangdog_stop());
    }
    unsigned done = (unsigned)(failed() - before);
    watched_start("faults", spool, o);
    CHECK_EQUAL(0, hangdog_set_threshold(watched_loop, 50 * MS));
    watched_turn(hang, 100);
    CHECK_EQUAL(1, wait_for_hangs(1));
    return done;
}

static const char *const calls_of_start[] = {
    "_semaphore_create", "_semaphore_signal",     "_semaphore_destroy",
    "_mach_thread_self", "_mach_port_deallocate", "_thread_info",
    "_task_info",        "_task_threads",         "_vm_read_overwrite"};

int main(int argc, char **argv) {
    (void)argc;
    int (*fail)(const char *, int, uint64_t) = (int (*)(const char *, int, uint64_t))fake("fake_fail");
    int (*failed)(void) = (int (*)(void))fake("fake_failed");
    if (!fail) {
        return 0;
    }
    pthread_t thread;
    hangdog_options o = {.interval_ns = 10 * MS};
    watched_start("faults", argv[1], &o);
    CHECK_EQUAL(0, hangdog_set_threshold(watched_loop, 50 * MS));
    pthread_create(&thread, NULL, beat, NULL);
    unsigned tried = 0, done = 0;
    for (unsigned c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        unsigned of_call = 0;
        for (unsigned e = 0; e < sizeof errors / sizeof errors[0]; e++) {
            if (!strcmp(calls[c], "_thread_resume") && errors[e].code != 1) {
                continue; /* the kernel says so of a thread that has ended, and never of a suspended one */
            }
            for (int nth = 1; nth <= 4; nth += 3) {
                of_call += try(fail, failed, calls[c], errors[e].code, nth);
                tried++;
            }
        }
        printf("%s failed %u times\n", calls[c] + 1, of_call);
        done += of_call;
    }
    printf("%u of %u faults happened, %u hangs were not seen\n", done, tried, lost);
    done = 0;
    for (unsigned c = 0; c < sizeof calls_of_start / sizeof calls_of_start[0]; c++) {
        done += try_start(fail, failed, calls_of_start[c], argv[1], &o);
    }
    printf("%u faults happened in a start\n", done);
    stop = 1;
    pthread_join(thread, NULL);
    watched_stop();
    check_violations();
    return failed_checks ? 1 : 0;
}
