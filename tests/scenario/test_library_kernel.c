/* SPDX-License-Identifier: MIT
 *
 * A kernel that was built without scheduling figures, whose `schedstat` reads "0 0 0": a thread that was
 * blocked and then computes has been switched from no more often than while it was blocked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "library.h"
#include "os/os.h"

static struct hd_os_calls real;
static char no_figures[] = "/tmp/hangdog-no-figures-XXXXXX";

static int open_without_figures(int dir, const char *path, int flags, int mode) {
    static const char name[] = "/schedstat";
    size_t n = strlen(path), length = sizeof name - 1;
    bool figures = n > length && strcmp(path + n - length, name) == 0;
    return figures ? real.open_at(AT_FDCWD, no_figures, flags, mode) : real.open_at(dir, path, flags, mode);
}

static int begin(void **state) {
    (void)state;
    int fd = mkstemp(no_figures);
    assert_int_equal(write(fd, "0 0 0\n", 6), 6);
    close(fd);
    spool_make(&spool);
    real = hd_os;
    hd_os.open_at = open_without_figures;
    library_start(&spool);
    return 0;
}

static int end(void **state) {
    (void)state;
    hangdog_stop();
    hd_os = real;
    unlink(no_figures);
    spool_remove(&spool);
    return 0;
}

/* Where it may, with a priority that keeps it on its processor from the moment it wakes. */
static void sleep_then_spin(uint64_t ms) {
    struct sched_param first = {.sched_priority = 1}, none = {0};
    bool stays = sched_setscheduler(0, SCHED_FIFO, &first) == 0;
    block_sleep(ms / 5);
    block_spin(ms);
    if (stays) {
        sched_setscheduler(0, SCHED_OTHER, &none);
    }
}

static void spin_then_sleep(uint64_t ms) {
    block_spin(ms / 5);
    block_sleep(ms);
}

static void finds_the_cause_of_each_part_of_a_turn(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    uint64_t took[2] = {looper_call(&looper, sleep_then_spin, 600), 0};
    json_decref(spool_wait(&spool, NULL, 1));
    took[1] = looper_call(&looper, spin_then_sleep, 600);
    json_t *hangs = spool_wait(&spool, NULL, 2);
    const json_t *spun = json_array_get(hangs, 0), *slept = json_array_get(hangs, 1);
    assert_near(report_ns(spun, "duration_ns"), took[0]);
    assert_string_equal(report_cause(spun), "cpu");
    assert_true(report_blames(spun, block_spin));
    assert_near(report_ns(slept, "duration_ns"), took[1]);
    assert_string_equal(report_cause(slept), "sleep");
    assert_true(report_blames(slept, block_sleep));
    json_decref(hangs);
    looper_stop(&looper);
}

int main(void) {
    library_quick_disk();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_the_cause_of_each_part_of_a_turn, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
