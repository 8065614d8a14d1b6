/* SPDX-License-Identifier: MIT
 *
 * What a thread's scheduling statistics are where the kernel shows only a part of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "capture/thread_clock.h"
#include "os/os.h"

static int refused(uint64_t tid, uint64_t *ns) {
    (void)tid;
    (void)ns;
    return -EPERM;
}

/* This thread, without the file schedstat. */
static int read_without_schedstat(struct hd_thread_clock *clock) {
    struct hd_thread_files files;
    assert_int_equal(hd_thread_files_open(&files, hd_thread_id_self()), 0);
    hd_os_close(files.schedstat_fd);
    files.schedstat_fd = -1;
    int rc = hd_thread_clock_read(&files, clock);
    hd_thread_files_close(&files);
    return rc;
}

static void context_switches_and_cpu_clock_stand_in_for_schedstat(void **state) {
    (void)state;
    struct hd_thread_clock clock;
    assert_int_equal(read_without_schedstat(&clock), 0);
    assert_int_equal(clock.proves, HD_CLOCK_LEAVING);
    assert_true(hd_sched_known(&clock.sched));
    assert_true(clock.sched.cpu_ns > 0);
}

/* A CPU time of 0 would say that the thread never ran, and that the process was stopped all the time. */
static void without_a_cpu_clock_there_are_no_statistics(void **state) {
    (void)state;
    int (*real)(uint64_t tid, uint64_t *ns) = hd_os.thread_cpu_clock;
    struct hd_thread_clock clock;
    hd_os.thread_cpu_clock = refused;
    int rc = read_without_schedstat(&clock);
    hd_os.thread_cpu_clock = real;
    assert_int_equal(rc, -EPERM);
    assert_int_equal(clock.proves, HD_CLOCK_NOTHING);
    assert_false(hd_sched_known(&clock.sched));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_switches_and_cpu_clock_stand_in_for_schedstat),
        cmocka_unit_test(without_a_cpu_clock_there_are_no_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
