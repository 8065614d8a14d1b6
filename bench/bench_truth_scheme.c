/* SPDX-License-Identifier: MIT
 *
 * The same loop by three schemes. By activity it marks its waits. By frames it never waits for an event: it
 * sleeps between frames of 60 a second, and calls hangdog_frame. By pings it marks nothing: it runs the tasks
 * that a thread of the library posts to it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench_truth.h"
#include "hangdog/hangdog.h"

#define FRAME_NS (BENCH_S / 60)
#define TASKS_MAX 64u

static struct {
    enum truth_scheme scheme;
    hangdog_loop *loop;
    pthread_mutex_t lock;
    pthread_cond_t posted;
    unsigned count;
    struct {
        void (*run)(void *);
        void *argument;
    } task[TASKS_MAX];
} own;

const char *truth_scheme_name(enum truth_scheme scheme) {
    static const char *const names[TRUTH_SCHEMES] = {"activity", "ping", "frame"};
    return names[scheme];
}

/* ---- tasks -------------------------------------------------------------------------------------- */

static int post(void *context, void (*run)(void *), void *argument) {
    (void)context;
    pthread_mutex_lock(&own.lock);
    int rc = own.count < TASKS_MAX ? 0 : EAGAIN;
    if (rc == 0) {
        own.task[own.count].run = run;
        own.task[own.count++].argument = argument;
        pthread_cond_signal(&own.posted);
    }
    pthread_mutex_unlock(&own.lock);
    return rc;
}

/* Under the lock, which is free while a task runs. */
static void run_tasks(void) {
    while (own.count > 0) {
        void (*run)(void *) = own.task[0].run;
        void *argument = own.task[0].argument;
        memmove(&own.task[0], &own.task[1], --own.count * sizeof own.task[0]);
        pthread_mutex_unlock(&own.lock);
        run(argument);
        pthread_mutex_lock(&own.lock);
    }
}

static void run_posted(void) {
    pthread_mutex_lock(&own.lock);
    run_tasks();
    pthread_mutex_unlock(&own.lock);
}

static void wait_for_tasks(uint64_t until_ns) {
    const struct timespec until = {.tv_sec = (time_t)(until_ns / BENCH_S),
                                   .tv_nsec = (long)(until_ns % BENCH_S)};
    int rc = 0;
    pthread_mutex_lock(&own.lock);
    while (rc == 0) {
        run_tasks();
        rc = pthread_cond_timedwait(&own.posted, &own.lock, &until);
    }
    run_tasks();
    pthread_mutex_unlock(&own.lock);
}

static int watch_by_pings(const char *folder) {
    pthread_condattr_t monotonic;
    hangdog_options options = {.size = sizeof options,
                               .app_name = "hangdog-bench",
                               .spool = folder,
                               .reports_per_day = UINT32_MAX,
                               .reports_per_fingerprint = UINT32_MAX,
                               .spool_reports = UINT32_MAX,
                               .ping_period_ns = TRUTH_PING_NS};
    options.threshold_ns[HANGDOG_STATE_FOREGROUND] = TRUTH_THRESHOLD_NS;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&own.posted, &monotonic);
    pthread_mutex_init(&own.lock, NULL);
    int rc = hangdog_start(&options);
    own.loop = rc == 0 ? hangdog_loop_watch("bench", 0) : NULL;
    rc = own.loop != NULL ? hangdog_watch_ping(own.loop, post, NULL) : rc;
    if (own.loop == NULL || rc != 0) {
        fprintf(stderr, "hangdog-bench: truth: cannot ping a loop: %s\n", strerror(-rc));
        return -1;
    }
    wait_for_tasks(bench_now_ns() + 300 * BENCH_MS);
    return 0;
}

/* ---- the loop ----------------------------------------------------------------------------------- */

int truth_loop_open(enum truth_scheme scheme, const char *folder) {
    own.scheme = scheme;
    if (scheme == TRUTH_PING) {
        return watch_by_pings(folder);
    }
    own.loop = bench_watch(folder, TRUTH_THRESHOLD_NS);
    if (own.loop != NULL && scheme == TRUTH_FRAME) {
        hangdog_after_wait(own.loop); /* from here on it only presents frames */
    }
    return own.loop != NULL ? 0 : -1;
}

void truth_loop_idle(uint64_t ns) {
    uint64_t until_ns = bench_now_ns() + ns;
    switch (own.scheme) {
    case TRUTH_PING:
        wait_for_tasks(until_ns);
        return;
    case TRUTH_FRAME:
        for (uint64_t now_ns; (now_ns = bench_now_ns()) < until_ns;) {
            bench_sleep_ns(until_ns - now_ns < FRAME_NS ? until_ns - now_ns : FRAME_NS);
            hangdog_frame(own.loop);
        }
        return;
    case TRUTH_ACTIVITY:
    case TRUTH_SCHEMES:
        bench_sleep_ns(ns);
        return;
    }
}

void truth_turn_begin(void) {
    if (own.scheme == TRUTH_ACTIVITY) {
        hangdog_after_wait(own.loop);
    } else if (own.scheme == TRUTH_FRAME) {
        hangdog_frame(own.loop);
    }
}

void truth_turn_next(void) {
    if (own.scheme == TRUTH_ACTIVITY) {
        hangdog_turn(own.loop);
    } else {
        truth_turn_end();
    }
}

void truth_turn_end(void) {
    if (own.scheme == TRUTH_ACTIVITY) {
        hangdog_before_wait(own.loop);
    } else if (own.scheme == TRUTH_FRAME) {
        hangdog_frame(own.loop);
    } else {
        run_posted();
    }
}

void truth_loop_close(void) {
    truth_loop_idle(500 * BENCH_MS); /* the last report is written */
    hangdog_loop_unwatch(own.loop);
}
