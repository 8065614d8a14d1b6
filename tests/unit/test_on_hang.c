/* SPDX-License-Identifier: MIT
 *
 * The command of --on-hang: for all reports, one after the other, however many come at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/reporter/on_hang.h"

#define REPORTS 40
#define MOMENT_MS 10000

static void give(struct on_hang *o) {
    char report[16];
    for (unsigned i = 0; i < REPORTS; i++) {
        snprintf(report, sizeof report, "%02u", i);
        on_hang_add(o, report);
    }
}

static void wait_until_quiet(struct on_hang *o) {
    for (int ms = 0; on_hang_busy(o) && ms < MOMENT_MS; ms++) {
        poll(NULL, 0, 1);
        on_hang_reap(o);
    }
    assert_false(on_hang_busy(o));
}

static void it_is_run_once_for_each_in_their_order(void **state) {
    (void)state;
    static struct on_hang o = {.command = "printf $1 >&2"};
    char expected[2 * REPORTS + 1], printed[sizeof expected + 2];
    int pipes[2], stderr_fd = dup(STDERR_FILENO);
    assert_int_equal(pipe(pipes), 0);
    dup2(pipes[1], STDERR_FILENO);
    give(&o);
    wait_until_quiet(&o);
    dup2(stderr_fd, STDERR_FILENO);
    close(pipes[1]);
    for (unsigned i = 0; i < REPORTS; i++) {
        snprintf(expected + 2 * i, 3, "%02u", i);
    }
    ssize_t n = read(pipes[0], printed, sizeof printed - 1);
    printed[n > 0 ? n : 0] = 0;
    assert_string_equal(printed, expected);
    assert_int_equal(on_hang_stop(&o), 0);
    close(pipes[0]);
    close(stderr_fd);
}

static void what_it_did_not_come_to_is_counted(void **state) {
    (void)state;
    static struct on_hang o = {.command = "exec sleep 1000"};
    give(&o);
    assert_int_equal(on_hang_stop(&o), REPORTS);
    on_hang_add(&o, "another");
    assert_false(on_hang_busy(&o));
    assert_int_equal(on_hang_stop(&o), REPORTS + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_run_once_for_each_in_their_order),
        cmocka_unit_test(what_it_did_not_come_to_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
