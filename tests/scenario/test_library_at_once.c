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

#include "capture/watched_thread.h"
#include "control/instance.h"
#include "library.h"

static atomic_bool enough;

/* Two threads do the one and two the other, for half a second; none of them may find anything wrong. */
static void do_at_once(void *(*one)(void *), void *(*other)(void *)) {
    pthread_t threads[4];
    unsigned wrong[4] = {0};
    atomic_store(&enough, false);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? one : other, &wrong[i]), 0);
    }
    nap_ms(500);
    atomic_store(&enough, true);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(wrong[i], 0);
    }
}

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
    library_start(&spool); /* a sanitizer has a thread of its own from the first on */
    assert_int_equal(hangdog_stop(), 0);
    unsigned before = entries_of("/proc/self/task");
    do_at_once(start_and_stop, start_and_stop);
    assert_int_equal(hangdog_stop(), 0);
    assert_threads(before);
}

static void *watch_and_unwatch(void *arg) {
    unsigned *wrong = arg;
    while (!atomic_load(&enough)) {
        hangdog_totals totals = {.size = sizeof totals};
        hangdog_loop *loop = hangdog_loop_watch("short", 0);
        hangdog_set_state(HANGDOG_STATE_FOREGROUND);
        int rc = hangdog_stats(&totals);
        *wrong += rc != 0 && rc != -ESRCH;
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
    hangdog_loop *loops[16];
    do_at_once(start_and_stop, watch_and_unwatch);
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

/* ---- a stop meets one that comes or goes ---------------------------------------------------------- */

/* A thread that is to be late halts in one of its calls until it is let go on. */
static _Thread_local bool halts;
static atomic_bool halted, go_on;

static void halt(void) {
    if (halts) {
        halts = false;
        atomic_store(&halted, true);
        while (!atomic_load(&go_on)) {
            nap_ms(1);
        }
    }
}

static struct hd_os_calls true_os;
static atomic_int kept; /* memory of watched threads that was not given back */

static uint64_t get_tid_late(void) {
    halt();
    return true_os.get_tid();
}

static void *map_late(void *addr, size_t n, int prot, int flags, int fd, uint64_t offset) {
    if (n == hd_capture_thread_bytes()) {
        halt();
        atomic_fetch_add(&kept, 1);
    }
    return true_os.map(addr, n, prot, flags, fd, offset);
}

static int unmap_counted(void *addr, size_t n) {
    atomic_fetch_sub(&kept, n == hd_capture_thread_bytes());
    return true_os.unmap(addr, n);
}

static int begin_late(void **state) {
    true_os = hd_os;
    hd_os.get_tid = get_tid_late;
    hd_os.map = map_late;
    hd_os.unmap = unmap_counted;
    atomic_store(&kept, 0);
    atomic_store(&halted, false);
    atomic_store(&go_on, false);
    return begin_library(state);
}

static int end_late(void **state) {
    hangdog_stop();
    hd_os = true_os;
    return end_library(state);
}

static bool is_set(void *flag) {
    return atomic_load((atomic_bool *)flag);
}

static void *unwatch_late(void *unused) {
    (void)unused;
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    hangdog_before_wait(loop);
    halts = true;
    hangdog_loop_unwatch(loop);
    return NULL;
}

static void a_watch_that_a_stop_ends_as_its_thread_leaves_is_given_back(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, unwatch_late, NULL), 0);
    assert_true(wait_for(is_set, &halted));
    assert_int_equal(hangdog_stop(), 0);
    atomic_store(&go_on, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&kept), 0);
}

static atomic_bool came_late, started_again;

static void *watch_late(void *mailbox) {
    halts = true;
    (void)hangdog_loop_watch("late", 0); /* told or not: the run is over */
    atomic_store(&came_late, true);
    if (wait_for(is_set, &started_again)) {
        hangdog_loop *loop = hangdog_loop_watch("main", 0);
        *(void **)mailbox = loop != NULL ? ((struct hd_watch *)(void *)loop)->mailbox : NULL;
        hangdog_loop_unwatch(loop);
    }
    return NULL;
}

static void a_watch_that_begins_after_the_last_look_of_a_stop_is_none(void **state) {
    (void)state;
    pthread_t thread;
    void *mailbox = NULL;
    atomic_store(&came_late, false);
    atomic_store(&started_again, false);
    assert_int_equal(pthread_create(&thread, NULL, watch_late, &mailbox), 0);
    assert_true(wait_for(is_set, &halted));
    assert_int_equal(hangdog_stop(), 0);
    atomic_store(&go_on, true);
    assert_true(wait_for(is_set, &came_late)); /* a start is refused meanwhile */
    library_start(&spool);
    atomic_store(&started_again, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(mailbox); /* else its running code would have no stack, for ever */
    assert_int_equal(atomic_load(&kept), 0);
}

/* ---- a start that is not the first one -------------------------------------------------------------- */

static void *start_again(void *wrong) {
    hangdog_options o = library_options(&spool);
    while (!atomic_load(&enough)) {
        *(unsigned *)wrong += hangdog_start(&o) != -EALREADY;
    }
    return NULL;
}

static void *watch_and_pause(void *wrong) {
    while (!atomic_load(&enough)) {
        hangdog_loop *loop = hangdog_loop_watch("short", 0);
        *(unsigned *)wrong += loop == NULL;
        hangdog_pause();
        hangdog_resume();
        hangdog_loop_unwatch(loop);
    }
    return NULL;
}

static bool has_no_watch(void *monitor) {
    const struct hd_run *m = monitor;
    for (unsigned i = 0, n = hd_watch_slots(&m->watches); i < n; i++) {
        if (atomic_load(&hd_watch_at(&m->watches, i)->use) != HD_WATCH_FREE) {
            return false;
        }
    }
    return true;
}

static void a_start_that_finds_it_running_takes_nothing_from_others(void **state) {
    (void)state;
    library_start(&spool);
    do_at_once(start_again, watch_and_pause);
    struct hd_run *m = hd_run_current();
    assert_int_equal(atomic_load(&m->channel.program.paused), 0);
    assert_true(wait_for(has_no_watch, m)); /* else one would hang for ever */
}

/* ---- the first start ------------------------------------------------------------------------------ */

#define RACERS 2
static atomic_uint ready;
static _Thread_local bool is_slow;

static int get_pid_slowly(void) {
    if (is_slow) {
        nap_ms(20);
    }
    return true_os.get_pid();
}

static void *start_first(void *slow) {
    hangdog_options o = library_options(&spool);
    is_slow = slow != NULL;
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < RACERS) {
    }
    return (void *)(intptr_t)hangdog_start(&o);
}

static int first_role(void) {
    pthread_t threads[RACERS];
    true_os = hd_os;
    hd_os.get_pid = get_pid_slowly;
    for (unsigned i = 0; i < RACERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, start_first, i > 0 ? &ready : NULL), 0);
    }
    for (unsigned i = 0; i < RACERS; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        role_say(ROLE_FD, (uint64_t) - (intptr_t)result);
    }
    return hangdog_stop() != 0;
}

/* In a process that has started nothing before, as in a forked child. */
static void of_two_first_starts_one_starts(void **state) {
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct role role;
        unsigned started = 0;
        role_start(&role, "first", &spool);
        for (unsigned j = 0; j < RACERS; j++) {
            uint64_t error = role_hear(role.fd);
            assert_true(error == 0 || error == EALREADY || error == EBUSY);
            started += error == 0;
        }
        assert_int_equal(role_wait(&role), 0);
        assert_int_equal(started, 1);
    }
}

int main(int argc, char **argv) {
    library_quick_disk();
    if (argc == 3) {
        spool_open(&spool, argv[2]);
        return first_role();
    }
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_spool, end_library)
#define LATE(name) cmocka_unit_test_setup_teardown(name, begin_late, end_late)
    const struct CMUnitTest tests[] = {
        CASE(four_threads_start_and_stop_as_they_like),
        CASE(loops_come_and_go_while_others_start_and_stop),
        CASE(a_start_that_finds_it_running_takes_nothing_from_others),
        CASE(of_two_first_starts_one_starts),
        LATE(a_watch_that_a_stop_ends_as_its_thread_leaves_is_given_back),
        LATE(a_watch_that_begins_after_the_last_look_of_a_stop_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
