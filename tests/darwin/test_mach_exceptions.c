/* SPDX-License-Identifier: MIT
 *
 * The receiver of Mach exceptions over a fake of their calls: what it stores, and that it answers always.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "crash/crash.h"
#include "fake_exceptions.h"
#include "fake_mach.h"
#include "os/os.h"

#define NO_THREAD 99000001u /* an id that no thread of this process has */

static _Atomic uint32_t wake;
static pthread_t worker;
static struct hd_crash found;
static uint32_t ends;

static void *work(void *unused) {
    (void)unused;
    while (__atomic_load_n(&ends, __ATOMIC_SEQ_CST) == 0) {
        const struct hd_crash *crash = hd_crash_taken();
        if (crash != NULL) {
            memcpy(&found, crash, sizeof found);
            hd_crash_written();
        }
        hd_os_nap(HD_NS_PER_MS / 5);
    }
    return NULL;
}

static struct fake_thread *start(bool with_worker) {
    fake_mach_reset();
    fake_exceptions_reset();
    memset(&found, 0, sizeof found);
    ends = 0;
    struct fake_thread *t = fake_mach_add(NO_THREAD);
    t->registers = (struct hd_mach_registers){.pc = 0x1111, .sp = 0x2222};
    t->rights = 1; /* that of the message */
    atomic_store(&hd_crash.phase, HD_CRASH_NONE);
    atomic_store(&hd_crash_wake, &wake);
    assert_int_equal(hd_mach_exceptions_begin(), 0);
    if (with_worker) {
        assert_int_equal(pthread_create(&worker, NULL, work, NULL), 0);
    }
    return t;
}

static void end(bool with_worker) {
    __atomic_store_n(&ends, 1, __ATOMIC_SEQ_CST);
    if (with_worker) {
        pthread_join(worker, NULL);
    }
    hd_mach_exceptions_end();
    atomic_store(&hd_crash_wake, NULL);
    assert_false(fake_exceptions.receives);
}

static void the_crash_is_stored_and_the_kernel_goes_on(void **state) {
    (void)state;
    struct fake_thread *t = start(true);
    fake_exceptions_raise(
        &(struct hd_mach_exception){.thread = t->port, .type = HD_MACH_BAD_ACCESS, .code = {1, 0x4010}});
    end(true);
    assert_int_equal(found.signal, SIGSEGV);
    assert_int_equal(found.address, 0x4010);
    assert_int_equal(found.thread.number, NO_THREAD);
    assert_int_equal(found.regs.pc, 0x1111);
    assert_int_equal(found.regs.sp, 0x2222);
    assert_string_equal(fake_exceptions.log, "txfc"); /* the ports are restored before the answer */
    assert_int_equal(t->rights, 0);
}

static void each_exception_has_its_signal(void **state) {
    (void)state;
    static const struct {
        struct hd_mach_exception exception;
        int signal;
    } rows[] = {{{.type = HD_MACH_BAD_ACCESS, .code = {1, 8}}, SIGSEGV},
                {{.type = HD_MACH_BAD_ACCESS, .code = {2, 8}}, SIGBUS},
                {{.type = HD_MACH_BAD_INSTRUCTION}, SIGILL},
                {{.type = HD_MACH_ARITHMETIC}, SIGFPE},
                {{.type = HD_MACH_BREAKPOINT}, SIGTRAP}};
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fake_thread *t = start(true);
        struct hd_mach_exception e = rows[i].exception;
        e.thread = t->port;
        fake_exceptions_raise(&e);
        end(true);
        assert_int_equal(found.signal, rows[i].signal);
    }
}

static void a_port_of_another_receiver_stays(void **state) {
    (void)state;
    fake_mach_reset();
    fake_exceptions_reset();
    fake_exceptions.take_rc = -EBUSY;
    assert_int_equal(hd_mach_exceptions_begin(), -EBUSY);
    hd_mach_exceptions_end();
    assert_string_equal(fake_exceptions.log, "t");
}

static void a_thread_that_has_ended_is_answered(void **state) {
    (void)state;
    struct fake_thread *t = start(true);
    fake_mach_clear();
    fake_mach.fail_at = 1;
    fake_mach.fail_rc = -ESRCH;
    fake_exceptions_raise(&(struct hd_mach_exception){.thread = t->port, .type = HD_MACH_BREAKPOINT});
    end(true);
    assert_int_equal(found.signal, 0);
    assert_string_equal(fake_exceptions.log, "txfc");
    assert_int_equal(t->rights, 0);
}

static void a_second_crash_is_answered_at_once(void **state) {
    (void)state;
    struct fake_thread *t = start(false);
    atomic_store(&hd_crash.phase, HD_CRASH_STORED);
    uint64_t begun_ns = hd_os_now_ns();
    fake_exceptions_raise(&(struct hd_mach_exception){.thread = t->port, .type = HD_MACH_BREAKPOINT});
    assert_true(hd_os_now_ns() - begun_ns < HD_NS_PER_S);
    end(false);
}

static void a_worker_without_answer_costs_three_seconds(void **state) {
    (void)state;
    struct fake_thread *t = start(false);
    uint64_t begun_ns = hd_os_now_ns();
    fake_exceptions_raise(&(struct hd_mach_exception){.thread = t->port, .type = HD_MACH_BREAKPOINT});
    assert_in_range(hd_os_now_ns() - begun_ns, 3 * HD_NS_PER_S, 4 * HD_NS_PER_S);
    end(false);
    assert_string_equal(fake_exceptions.log, "txfc");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_crash_is_stored_and_the_kernel_goes_on),
        cmocka_unit_test(each_exception_has_its_signal),
        cmocka_unit_test(a_port_of_another_receiver_stays),
        cmocka_unit_test(a_thread_that_has_ended_is_answered),
        cmocka_unit_test(a_second_crash_is_answered_at_once),
        cmocka_unit_test(a_worker_without_answer_costs_three_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
