/* SPDX-License-Identifier: MIT
 *
 * A loop that leaves the monitor no processor: its hangs are over before anybody could look at them, and are
 * counted all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>

#include "library.h"

#define TURNS 3
#define TURN_MS 400 /* of each second the kernel leaves a twentieth to others */

static atomic_bool first; /* its thread comes before all others */

static void take_the_processor(uint64_t yes) {
    struct sched_param parameters = {.sched_priority = yes ? 1 : 0};
    atomic_store(&first, sched_setscheduler(0, yes ? SCHED_FIFO : SCHED_OTHER, &parameters) == 0 && yes);
}

static int begin(void **state) {
    cpu_set_t all, one;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (unsigned cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0); /* and all threads that come */
    return begin_library(state);
}

static void hangs_that_are_over_before_the_monitor_runs_are_counted(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_call(&looper, take_the_processor, 1);
    for (unsigned i = 0; i < TURNS && atomic_load(&first); i++) {
        nap_ms(TURN_MS);
        looper_call(&looper, block_spin, TURN_MS);
    }
    bool was = atomic_load(&first);
    nap_ms(TURN_MS);
    looper_call(&looper, take_the_processor, 0);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    if (!was) {
        print_message("it may have no priority here\n");
        skip();
    }
    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    /* where the machine has too much to do, the two turns around them, too */
    assert_in_range(report_ns(session, "hangs"), TURNS, TURNS + 2);
    assert_true(report_ns(session, "hang_ns") >= TURNS * TURN_MS * MS);
    json_decref(sessions);
}

int main(void) {
    library_quick_disk();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hangs_that_are_over_before_the_monitor_runs_are_counted, begin,
                                        end_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
