/* SPDX-License-Identifier: MIT
 *
 * Starting, stopping and watching from several threads at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdatomic.h>

#include "library.h"

static atomic_bool enough;

static void *start_and_stop(void *arg) {
    hangdog_options o = library_options(&spool);
    unsigned *wrong = arg;
    while (!atomic_load(&enough)) {
        int rc = hangdog_start(&o);
        *wrong += rc != 0 && rc != -EALREADY && rc != -EBUSY;
        rc = hangdog_stop();
        *wrong += rc != 0 && rc != -EBUSY;
    }
    return NULL;
}

static void four_threads_start_and_stop_as_they_like(void **state) {
    (void)state;
    pthread_t threads[4];
    unsigned wrong[4] = {0};
    library_start(&spool); /* a sanitizer has a thread of its own from the first on */
    assert_int_equal(hangdog_stop(), 0);
    unsigned before = entries_of("/proc/self/task");
    atomic_store(&enough, false);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, start_and_stop, &wrong[i]), 0);
    }
    nap_ms(500);
    atomic_store(&enough, true);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(wrong[i], 0);
    }
    assert_int_equal(hangdog_stop(), 0);
    assert_threads(before);
}

static void *watch_and_unwatch(void *arg) {
    (void)arg;
    while (!atomic_load(&enough)) {
        hangdog_loop *loop = hangdog_loop_watch("short", 0);
        hangdog_set_state(HANGDOG_STATE_FOREGROUND);
        hangdog_pause();
        hangdog_mark(loop, HANGDOG_ENTRY);
        hangdog_before_wait(loop);
        hangdog_after_wait(loop);
        hangdog_turn(loop);
        hangdog_mark(loop, HANGDOG_EXIT);
        hangdog_resume();
        hangdog_loop_unwatch(loop);
    }
    return NULL;
}

/* A start zeroes what the run before had, and what is told of that run meanwhile does no harm. */
static void loops_come_and_go_while_others_start_and_stop(void **state) {
    (void)state;
    pthread_t threads[4];
    unsigned wrong[4] = {0};
    hangdog_loop *loops[16];
    atomic_store(&enough, false);
    for (unsigned i = 0; i < 4; i++) {
        void *(*run)(void *) = i < 2 ? start_and_stop : watch_and_unwatch;
        assert_int_equal(pthread_create(&threads[i], NULL, run, &wrong[i]), 0);
    }
    nap_ms(500);
    atomic_store(&enough, true);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(wrong[i], 0);
    }
    assert_int_equal(hangdog_stop(), 0);
    library_start(&spool);
    for (unsigned i = 0; i < 16; i++) {
        loops[i] = hangdog_loop_watch("one of many", 0);
        assert_non_null(loops[i]);
        hangdog_before_wait(loops[i]);
    }
    for (unsigned i = 0; i < 16; i++) {
        hangdog_loop_unwatch(loops[i]);
    }
    assert_int_equal(hangdog_stop(), 0);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_spool, end_library)
    const struct CMUnitTest tests[] = {
        CASE(four_threads_start_and_stop_as_they_like),
        CASE(loops_come_and_go_while_others_start_and_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
