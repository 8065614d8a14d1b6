/* SPDX-License-Identifier: MIT
 *
 * What the runner does beside its signals, when the program has ended and it does not come to its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <semaphore.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/second_thread.h"
#include "os/os.h"

#define MOMENT_NS (5 * HD_NS_PER_S)
#define LONG_NS (600 * HD_NS_PER_S)

static sem_t may_end, has_ended;
static struct hd_os_calls real;

/* Each time it is read it is much later. */
static int hasty_clock(clockid_t of, struct timespec *ts) {
    static _Atomic uint64_t later_ns;
    int rc = clock_gettime(of, ts);
    ts->tv_sec += (time_t)((later_ns += LONG_NS) / HD_NS_PER_S);
    return rc;
}

static void wait_for_it(void *unused) {
    (void)unused;
    while (sem_wait(&may_end) != 0) {
    }
    sem_post(&has_ended);
}

static void let_it_end(void *unused) {
    hd_os_nap(100 * HD_NS_PER_MS);
    sem_post(&may_end);
    wait_for_it(unused);
}

static int fresh(void **state) {
    static struct runner r;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    hd_os.clock = real.clock;
    r = (struct runner){.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ended = true};
    r.run.ended_ns = hd_os_now_ns();
    *state = &r;
    return sem_init(&may_end, 0, 0) | sem_init(&has_ended, 0, 0);
}

/* The thread that was left comes to its end. */
static int clean(void **state) {
    const struct runner *r = *state;
    sem_post(&may_end);
    while (sem_wait(&has_ended) != 0) {
    }
    return close(r->signal_fd);
}

static void it_is_left_when_somebody_wants_us_to_end(void **state) {
    struct runner *r = *state;
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    assert_false(on_second_thread(r, wait_for_it, NULL));
}

static void it_is_left_when_it_takes_too_long(void **state) {
    struct runner *r = *state;
    hd_os.clock = hasty_clock;
    assert_int_equal(kill(getpid(), SIGCHLD), 0); /* asks nothing of us */
    assert_false(on_second_thread(r, wait_for_it, NULL));
}

/* What began long after the program's end has its own time. */
static void it_is_not_left_for_what_was_before(void **state) {
    struct runner *r = *state;
    r->run.ended_ns -= LONG_NS;
    assert_true(on_second_thread(r, let_it_end, NULL));
}

/* A signal that comes with the program's end may be what ended it. */
static void it_has_a_moment_all_the_same(void **state) {
    struct runner *r = *state;
    r->run.ended_ns += MOMENT_NS; /* however slow we are */
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    assert_true(on_second_thread(r, let_it_end, NULL));
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fresh, clean)
    const struct CMUnitTest tests[] = {
        CASE(it_is_left_when_somebody_wants_us_to_end),
        CASE(it_is_left_when_it_takes_too_long),
        CASE(it_is_not_left_for_what_was_before),
        CASE(it_has_a_moment_all_the_same),
    };
    hd_os_clock_init();
    real = hd_os;
    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
