/* SPDX-License-Identifier: MIT
 *
 * A start and a stop at the same time, while the disk of the reports does not answer: what each waits for,
 * its turn and our threads, is less than 100 ms together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "library.h"
#include "os/os.h"

#define TRIES 5 /* the best of them: who gets no processor is slow */

/* A worker that is left at its disk is never joined. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "report_thread_leaks=0";
}

/* ---- a disk that stalls from the start on --------------------------------------------------------- */

static atomic_bool stalled;
static atomic_uint waiting; /* workers that are at the disk */
static int (*true_open_at)(int, const char *, int, int);

/* The way to the spool begins at the root; nothing else of ours is opened there. */
static int stalling_open_at(int dir, const char *path, int flags, int mode) {
    if (strcmp(path, "/") == 0) {
        atomic_fetch_add(&waiting, 1);
        while (atomic_load(&stalled)) {
            nap_ms(1);
        }
        atomic_fetch_sub(&waiting, 1);
    }
    return true_open_at(dir, path, flags, mode);
}

static bool one_waits(void *unused) {
    (void)unused;
    return atomic_load(&waiting) > 0;
}

static bool none_waits(void *unused) {
    return !one_waits(unused);
}

static void disk_answers(void) {
    atomic_store(&stalled, false);
    assert_true(wait_for(none_waits, NULL));
    assert_int_equal(hangdog_stop(), 0);
    atomic_store(&stalled, true);
}

/* ---- two at once ---------------------------------------------------------------------------------- */

static atomic_bool begun;

static void *start_it(void *rc) {
    hangdog_options o = library_options(&spool);
    atomic_store(&begun, true);
    *(int *)rc = hangdog_start(&o);
    return NULL;
}

static void *stop_it(void *rc) {
    atomic_store(&begun, true);
    *(int *)rc = hangdog_stop();
    return NULL;
}

static bool has_begun(void *unused) {
    (void)unused;
    return atomic_load(&begun);
}

/* The worker of a run is at the disk, and a stop waits for it; the start comes after that, and waits for a
 * worker of its own. How long it took; UINT64_MAX: it was first. */
static uint64_t start_during_a_stop(void) {
    hangdog_options o = library_options(&spool);
    assert_int_equal(hangdog_start(&o), 0);
    pthread_t other;
    int stopped = -1;
    atomic_store(&begun, false);
    assert_int_equal(pthread_create(&other, NULL, stop_it, &stopped), 0);
    assert_true(wait_for(has_begun, NULL));
    nap_ms(1);
    uint64_t before = now_ns();
    int started = hangdog_start(&o);
    uint64_t took = now_ns() - before;
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(stopped, 0);
    assert_true(started == 0 || started == -EALREADY || started == -EBUSY);
    return started == 0 ? took : UINT64_MAX;
}

/* The start waits for its worker, which is at the disk; the stop comes after that, and waits for it too. */
static uint64_t stop_during_a_start(void) {
    pthread_t other;
    int started = -1;
    assert_int_equal(pthread_create(&other, NULL, start_it, &started), 0);
    assert_true(wait_for(one_waits, NULL));
    uint64_t before = now_ns();
    int stopped = hangdog_stop();
    uint64_t took = now_ns() - before;
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(started, 0);
    assert_int_equal(stopped, 0);
    return took;
}

static void expect_quick(uint64_t (*call)(void)) {
    uint64_t best = UINT64_MAX;
    for (unsigned i = 0; i < TRIES && best >= QUICK_NS; i++) {
        uint64_t took = call();
        best = took < best ? took : best;
        disk_answers();
    }
    if (best >= QUICK_NS) {
        fail_msg("it took %.1f ms", (double)best / MS);
    }
}

static void a_start_that_waits_for_a_stop_is_quick(void **state) {
    (void)state;
    expect_quick(start_during_a_stop);
}

static void a_stop_that_waits_for_a_start_is_quick(void **state) {
    (void)state;
    expect_quick(stop_during_a_start);
}

static int begin(void **state) {
    (void)state;
    spool_make(&spool);
    atomic_store(&stalled, true);
    return 0;
}

static int end(void **state) {
    (void)state;
    atomic_store(&stalled, false);
    hangdog_stop();
    bool left = wait_for(none_waits, NULL);
    spool_remove(&spool);
    return left ? 0 : -1;
}

int main(void) {
    true_open_at = hd_os.open_at;
    hd_os.open_at = stalling_open_at;
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_start_that_waits_for_a_stop_is_quick),
        CASE(a_stop_that_waits_for_a_start_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
