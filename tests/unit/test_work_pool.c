/* SPDX-License-Identifier: MIT
 *
 * The pool of threads: each job runs once, in turn, also when the pool ends, and none after that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "collector/http/work_pool.h"

#define JOBS 1000

struct numbered {
    struct work_job job;
    int number;
};

static struct numbered jobs[JOBS];
static atomic_int started, ran;
static int order[JOBS];

static void note(struct work_job *job) {
    struct numbered *of = (struct numbered *)job;
    order[atomic_fetch_add(&started, 1)] = of->number;
    atomic_fetch_add(&ran, 1);
}

static void note_slowly(struct work_job *job) {
    const struct timespec step = {.tv_nsec = 1000000};
    nanosleep(&step, NULL);
    note(job);
}

static void add_all(struct work_pool *pool, int count, void (*run)(struct work_job *job)) {
    atomic_store(&started, 0);
    atomic_store(&ran, 0);
    for (int i = 0; i < count; i++) {
        jobs[i] = (struct numbered){.job = {.run = run}, .number = i};
        assert_true(work_pool_add(pool, &jobs[i].job));
    }
}

static void one_thread_keeps_the_order(void **state) {
    (void)state;
    struct work_pool *pool = work_pool_start(1);
    assert_non_null(pool);
    add_all(pool, JOBS, note);
    while (atomic_load(&ran) < JOBS) {
        sched_yield();
    }
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(order[i], i);
        assert_false(jobs[i].job.is_late);
    }
    work_pool_stop(pool);
    work_pool_free(pool);
}

static void the_end_waits_for_each_job(void **state) {
    (void)state;
    struct work_pool *pool = work_pool_start(4);
    assert_non_null(pool);
    add_all(pool, 100, note_slowly);
    work_pool_stop(pool);
    assert_int_equal(atomic_load(&ran), 100);
    assert_true(jobs[99].job.is_late); /* the pool ended before */
    assert_false(work_pool_add(pool, &jobs[0].job));
    assert_int_equal(atomic_load(&ran), 100);
    work_pool_free(pool);
    work_pool_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_keeps_the_order),
        cmocka_unit_test(the_end_waits_for_each_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
