/* SPDX-License-Identifier: MIT
 *
 * Twenty-three kinds of waiting, each sampled a thousand times while a thread is in it: none returns early.
 * Beside it the usual sampler, a signal under SA_RESTART, which breaks half of them: so the test can fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "capture_live.h"
#include "long_waits.h"

#define SAMPLES 1000
#define INTERVAL_NS (10 * HD_NS_PER_MS)

static struct row {
    const struct long_wait *wait;
    struct live live;
    int returned_errno;
} rows[LONG_WAITS];
#define ROWS LONG_WAITS

static void in_the_call(struct live *l) {
    struct row *r = l->arg;
    long rc = r->wait->call();
    r->returned_errno = rc < 0 ? errno : (int)rc;
}

static unsigned count_returned(bool print) {
    unsigned n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (live_get(&rows[i].live.returned) != 0) {
            n++;
            if (print) {
                print_message(" %s", rows[i].wait->name);
            }
        }
    }
    return n;
}

/* Whatever it waited for on its way into the call itself: it is there when it is found at one place twice. */
static bool wait_until_in_its_call(struct live *l) {
    struct hd_capture before = {0}, now;
    for (unsigned i = 0; i < 2000 && live_capture_by(l, HD_WAY_FROZEN, &now); i++) {
        if (i > 0 && now.syscall_nr == before.syscall_nr && now.regs.sp == before.regs.sp) {
            return true;
        }
        before = now;
        live_nap(10 * HD_NS_PER_MS);
    }
    return false;
}

static void no_call_returns_early_when_sampled(void **state) {
    struct hd_capture c;
    uint64_t copies = 0, signals = 0, slowest = 0;
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        rows[i].wait = &long_waits[i];
        rows[i].live.arg = &rows[i];
        assert_true(live_start(&rows[i].live, in_the_call));
    }
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(wait_until_in_its_call(&rows[i].live));
    }
    for (size_t i = 0; i < ROWS; i++) {
        signals += rows[i].live.target.cost.signals;
    }
    uint64_t next = hd_os_now_ns();
    for (unsigned n = 0; n < SAMPLES; n++) {
        for (size_t i = 0; i < ROWS; i++) {
            uint64_t begin = hd_os_now_ns();
            rows[i].live.target.last.valid = n % 2 == 1; /* every other time the whole copy */
            assert_int_equal(hd_capture_take(&rows[i].live.target, true, &c), 0);
            assert_int_equal(c.way, HD_WAY_FROZEN);
            copies += c.stack_bytes != 0;
            uint64_t took = hd_os_now_ns() - begin;
            slowest = took > slowest ? took : slowest;
        }
        next += INTERVAL_NS;
        hd_os.futex_wait(&(uint32_t){0}, 0, next, false);
    }
    unsigned early = count_returned(true);
    for (size_t i = 0; i < ROWS; i++) {
        signals -= rows[i].live.target.cost.signals;
    }
    print_message(
        "%u of %zu calls returned early after %u samples each (%lu copies, slowest sample %lu us)\n", early,
        ROWS, SAMPLES, copies, slowest / 1000);
    assert_int_equal(early, 0);
    assert_int_equal(signals, 0);
}

static void nothing(int signal) {
    (void)signal;
}

static void a_plain_signal_sampler_breaks_them(void **state) {
    struct sigaction plain = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    (void)state;
    sigaction(SIGUSR1, &plain, NULL);
    for (size_t i = 0; i < ROWS; i++) {
        pthread_kill(rows[i].live.thread, SIGUSR1);
    }
    unsigned early = 0;
    for (int i = 0; i < 500 && early < 12; i++) {
        live_nap(10 * HD_NS_PER_MS);
        early = count_returned(false);
    }
    live_nap(50 * HD_NS_PER_MS);
    early = count_returned(true);
    print_message(": one signal under SA_RESTART ended %u of %zu\n", early, ROWS);
    assert_true(early >= 12);
}

static void close_everything(void) {
    long_waits_close();
    for (size_t i = 0; i < ROWS; i++) {
        live_abandon(&rows[i].live); /* those that are still in their call end with the process */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_returns_early_when_sampled),
        cmocka_unit_test(a_plain_signal_sampler_breaks_them),
    };
    hd_os_clock_init();
    long_waits_open();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    close_everything();
    return failed;
}
