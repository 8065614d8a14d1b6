/* SPDX-License-Identifier: MIT
 *
 * A suspended machine: CLOCK_MONOTONIC stands still, the counter runs on. Here a process is stopped, and
 * the clock that the library reads in it leaves out the time of its stops; the counter is the true one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "library.h"
#include "os/os.h"

#define T THRESHOLD_MS
#define SUSPENDS 10
#define LONG_TURN 28 /* bucket of turns from 268 ms on */

static _Atomic uint64_t *suspended_ns; /* shared with the process that is suspended */

static void share(void) {
    char path[sizeof spool.path + 16];
    snprintf(path, sizeof path, "%s/suspended", spool.path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof *suspended_ns), 0);
    suspended_ns = mmap(NULL, sizeof *suspended_ns, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(suspended_ns != MAP_FAILED);
    close(fd);
}

static int begin(void **state) {
    (void)state;
    spool_make(&spool);
    share();
    return 0;
}

static int end(void **state) {
    (void)state;
    munmap((void *)suspended_ns, sizeof *suspended_ns);
    spool_remove(&spool);
    return 0;
}

/* ---- the process that is suspended ---------------------------------------------------------------- */

static int (*true_futex_wait)(uint32_t *, uint32_t, uint64_t, bool);

static uint64_t clock_ns(void) {
    return now_ns() - atomic_load(suspended_ns);
}

static int stopping_clock(int clock, struct timespec *time) {
    (void)clock;
    uint64_t ns = clock_ns();
    time->tv_sec = (time_t)(ns / SECOND);
    time->tv_nsec = (long)(ns % SECOND);
    return 0;
}

static int wait_by_that_clock(uint32_t *word, uint32_t expected, uint64_t until_ns, bool shared) {
    int rc;
    do {
        uint64_t until = until_ns == UINT64_MAX ? until_ns : until_ns + atomic_load(suspended_ns);
        rc = true_futex_wait(word, expected, until, shared);
    } while (rc == -ETIMEDOUT && clock_ns() < until_ns);
    return rc;
}

static void start_with_loop(void) {
    share();
    true_futex_wait = hd_os.futex_wait;
    hd_os.futex_wait = wait_by_that_clock;
    hd_os.clock = stopping_clock;
    library_start(&spool);
    looper_start(&looper, "main", 0);
}

static int leave(void) {
    looper_stop(&looper);
    return -hangdog_stop();
}

static void suspend_in_the_turn(uint64_t ms) {
    nap_ms(ms);
    raise(SIGSTOP);
    nap_ms(ms + INTERVAL_MS);
}

static void nothing(uint64_t ms) {
    (void)ms;
}

/* Two short turns wake the monitor, which then stays awake for an interval without asking anybody: it has not
 * seen the next turn yet when that is suspended. So is the idle loop, sometimes. */
static int turns_role(void) {
    start_with_loop();
    for (unsigned i = 0; i < SUSPENDS; i++) {
        nap_ms(5 * INTERVAL_MS);
        if (i % 3 == 0) {
            raise(SIGSTOP);
            continue;
        }
        looper_call(&looper, nothing, 0);
        nap_ms(1);
        looper_call(&looper, nothing, 0);
        nap_ms(1);
        looper_call(&looper, suspend_in_the_turn, 1);
    }
    return leave();
}

static int hang_role(void) {
    start_with_loop();
    looper_call(&looper, suspend_in_the_turn, 2 * T);
    return leave();
}

/* ---- the tests ------------------------------------------------------------------------------------ */

static void suspend_for(const struct role *role, uint64_t ms) {
    int status = 0;
    assert_int_equal(waitpid(role->pid, &status, WUNTRACED), role->pid);
    assert_true(WIFSTOPPED(status));
    uint64_t from_ns = now_ns();
    nap_ms(ms);
    atomic_fetch_add(suspended_ns, now_ns() - from_ns);
    assert_int_equal(kill(role->pid, SIGCONT), 0);
}

static void a_suspended_turn_is_no_hang(void **state) {
    (void)state;
    struct role role;
    role_start(&role, "turns", &spool);
    for (unsigned i = 0; i < SUSPENDS; i++) {
        suspend_for(&role, 2 * T);
    }
    assert_int_equal(role_wait(&role), 0);
    spool_expect(&spool, 0);

    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    uint64_t used_ns = report_ns(session, "used_ns"), idle_ns = report_ns(session, "idle_ns");
    assert_true(used_ns < SUSPENDS * T * MS || SLOW);
    assert_in_range(idle_ns, used_ns / 4, used_ns);
    const json_t *histogram = json_object_get(session, "turn_histogram");
    for (size_t i = LONG_TURN; i < json_array_size(histogram); i++) {
        assert_int_equal(json_integer_value(json_array_get(histogram, i)), 0);
    }
    json_decref(sessions);
}

static void a_hang_is_as_long_as_the_clock_ran(void **state) {
    (void)state;
    struct role role;
    role_start(&role, "hang", &spool);
    suspend_for(&role, 1500);
    assert_int_equal(role_wait(&role), 0);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), (4 * T + INTERVAL_MS) * MS);
    assert_near(report_ns(json_array_get(hangs, 0), "excluded_ns"), 0);
    json_decref(hangs);
}

int main(int argc, char **argv) {
    library_quick_disk();
    if (argc == 3) {
        spool_open(&spool, argv[2]);
        role_ends_with_session(&spool);
        return strcmp(argv[1], "turns") == 0 ? turns_role() : hang_role();
    }
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_suspended_turn_is_no_hang),
        CASE(a_hang_is_as_long_as_the_clock_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
