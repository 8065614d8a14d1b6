/* SPDX-License-Identifier: MIT
 *
 * Darwin's handlers of crashes, in children that crash: what is stored, that the program's handler follows,
 * and that a crash always ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/watched_thread.h"
#include "crash/crash.h"
#include "crash/darwin/crash_handler.h"
#include "crash/darwin/exception.h"
#include "fake_mach.h"
#include "os/os.h"

struct stored {
    int signal, code;
    uint64_t address, pc, sp;
    bool own_thread, has_exception;
    struct hd_crash_exception exception;
};

struct ended {
    struct stored stored;
    bool reported;
    int status;
    uint64_t took_ns;
};

static _Atomic uint32_t wake;
static int to_parent;
static bool answers = true;
static _Atomic uint64_t crashing;

/* Stands for the worker: writes what the handler stored to the parent. */
static void *work(void *unused) {
    (void)unused;
    while (hd_crash_taken() == NULL) {
        hd_os.futex_wait((uint32_t *)&wake, 0, hd_os_now_ns() + HD_NS_PER_MS, false);
    }
    const struct hd_crash *crash = hd_crash_taken();
    struct stored stored = {.signal = crash->signal,
                            .code = crash->code,
                            .address = crash->address,
                            .pc = crash->regs.pc,
                            .sp = crash->regs.sp,
                            .own_thread = crash->thread.number == crashing};
    stored.has_exception = hd_crash_exception_seen(crash, &stored.exception);
    if (write(to_parent, &stored, sizeof stored) == sizeof stored && answers) {
        hd_crash_written();
    }
    return NULL;
}

static struct ended child(void (*prepare)(void), void (*crash)(void)) {
    struct ended out = {.reported = false};
    int pipes[2];
    uint64_t begun_ns = hd_os_now_ns();
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t worker;
        to_parent = pipes[1];
        signal(SIGABRT, SIG_DFL); /* cmocka's */
        signal(SIGSEGV, SIG_DFL);
        signal(SIGILL, SIG_DFL);
        signal(SIGFPE, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        fake_mach_reset();
        if (prepare != NULL) {
            prepare();
        }
        crashing = hd_thread_id_self().number;
        hd_crash_begin(&wake, false);
        pthread_create(&worker, NULL, work, NULL);
        crash();
        _exit(99);
    }
    close(pipes[1]);
    out.reported = read(pipes[0], &out.stored, sizeof out.stored) == sizeof out.stored;
    close(pipes[0]);
    assert_int_equal(waitpid(pid, &out.status, 0), pid);
    out.took_ns = hd_os_now_ns() - begun_ns;
    return out;
}

static void assert_died_by(const struct ended *e, int signal) {
    assert_true(WIFSIGNALED(e->status));
    assert_int_equal(WTERMSIG(e->status), signal);
    assert_true(e->took_ns < 2 * HD_NS_PER_S);
}

/* ---- what is stored ---------------------------------------------------------------------------- */

static volatile int *volatile at_16 = (volatile int *)16;

__attribute__((noinline)) static void store_at_16(void) {
    *at_16 = 1;
}

static void a_bad_access_is_stored(void **state) {
    (void)state;
    struct ended e = child(NULL, store_at_16);
    assert_true(e.reported);
    assert_int_equal(e.stored.signal, SIGSEGV);
    assert_int_equal(e.stored.code, 1);
    assert_int_equal(e.stored.address, 16);
    assert_true(e.stored.own_thread);
    assert_in_range(e.stored.pc, (uint64_t)(uintptr_t)store_at_16, (uint64_t)(uintptr_t)store_at_16 + 64);
    assert_int_not_equal(e.stored.sp, 0);
    assert_false(e.stored.has_exception);
    assert_died_by(&e, SIGSEGV);
}

static void an_abort_is_stored(void **state) {
    (void)state;
    struct ended e = child(NULL, abort);
    assert_true(e.reported);
    assert_int_equal(e.stored.signal, SIGABRT);
    assert_int_equal(e.stored.code, 0);
    assert_int_equal(e.stored.address, 0);
    assert_died_by(&e, SIGABRT);
}

static void stop_at_breakpoint(void) {
#if defined(__x86_64__)
    __asm__ volatile("int3");
#else
    __asm__ volatile("brk #1");
#endif
}

static void a_breakpoint_ends_the_process(void **state) {
    (void)state;
    struct ended e = child(NULL, stop_at_breakpoint);
    assert_true(e.reported);
    assert_died_by(&e, SIGTRAP);
}

static void send_bus(void) {
    kill(getpid(), SIGBUS);
    hd_os_nap(HD_NS_PER_S);
}

static void a_signal_that_was_sent_ends_the_process(void **state) {
    (void)state;
    struct ended e = child(NULL, send_bus);
    assert_true(e.reported);
    assert_int_equal(e.stored.code, 0);
    assert_died_by(&e, SIGBUS);
}

/* Darwin's numbers, by sys/signal.h: not those of this system's header. */
static void codes_have_linuxs_numbers(void **state) {
    (void)state;
    assert_int_equal(hd_crash_code(SIGFPE, 7), 1); /* FPE_INTDIV */
    assert_int_equal(hd_crash_code(SIGFPE, 1), 3); /* FPE_FLTDIV */
    assert_int_equal(hd_crash_code(SIGFPE, 99), 99);
    assert_int_equal(hd_crash_code(SIGILL, 2), 4); /* ILL_ILLTRP */
    assert_int_equal(hd_crash_code(SIGILL, 5), 3); /* ILL_ILLADR */
    assert_int_equal(hd_crash_code(SIGSEGV, 2), 2);
    assert_int_equal(hd_crash_code(SIGBUS, 1), 1);
    assert_int_equal(hd_crash_code(SIGABRT, 0x10001), 0); /* SI_USER */
    assert_int_equal(hd_crash_code(SIGABRT, 0), 0);
    assert_int_equal(hd_crash_code(SIGABRT, -6), 0);
}

/* ---- chains ------------------------------------------------------------------------------------ */

static void end_with_42(int signal, siginfo_t *info, void *context) {
    (void)context;
    _exit(signal == SIGSEGV && info->si_addr == (void *)16 ? 42 : 43);
}

static void handle_segv(void) {
    const struct sigaction action = {.sa_sigaction = end_with_42, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
}

static void the_programs_handler_follows_the_report(void **state) {
    (void)state;
    struct ended e = child(handle_segv, store_at_16);
    assert_true(e.reported);
    assert_true(WIFEXITED(e.status));
    assert_int_equal(WEXITSTATUS(e.status), 42);
}

static void ignore_bus(void) {
    signal(SIGBUS, SIG_IGN);
}

static void end_after_bus(void) {
    kill(getpid(), SIGBUS);
    _exit(7);
}

static void an_ignored_signal_stays_ignored(void **state) {
    (void)state;
    struct ended e = child(ignore_bus, end_after_bus);
    assert_false(e.reported);
    assert_true(WIFEXITED(e.status));
    assert_int_equal(WEXITSTATUS(e.status), 7);
}

static void stop_and_look(void) {
    struct sigaction now;
    hd_crash_end();
    sigaction(SIGSEGV, NULL, &now);
    bool restored = now.sa_sigaction == end_with_42;
    sigaction(SIGBUS, NULL, &now);
    _exit(restored && now.sa_handler == SIG_DFL ? 5 : 6);
}

static void a_stop_restores_the_actions(void **state) {
    (void)state;
    struct ended e = child(handle_segv, stop_and_look);
    assert_int_equal(WEXITSTATUS(e.status), 5);
}

/* ---- a crash ends ------------------------------------------------------------------------------ */

static void without_answer(void) {
    answers = false;
}

static void a_worker_without_answer_costs_three_seconds(void **state) {
    (void)state;
    struct ended e = child(without_answer, store_at_16);
    assert_true(WIFSIGNALED(e.status));
    assert_in_range(e.took_ns, 3 * HD_NS_PER_S, 4 * HD_NS_PER_S);
}

static void fail_in_handler(void) {
    fake_mach.context_fails = true;
}

static void a_handler_that_fails_ends_the_process(void **state) {
    (void)state;
    struct ended e = child(fail_in_handler, abort);
    assert_false(e.reported);
    assert_true(WIFSIGNALED(e.status));
    assert_true(e.took_ns < HD_NS_PER_S);
}

static void fail_before_programs_handler(void) {
    handle_segv();
    fail_in_handler();
}

/* The handler's own signal is blocked while the handler runs. On Darwin, a fault that is blocked comes again
 * without end. */
static void the_programs_handler_follows_a_failure_of_ours(void **state) {
    (void)state;
    struct ended e = child(fail_before_programs_handler, store_at_16);
    assert_false(e.reported);
    assert_true(WIFEXITED(e.status));
    assert_int_equal(WEXITSTATUS(e.status), 43); /* of the second fault's address */
}

static void *crash_too(void *unused) {
    (void)unused;
    hd_os_nap(20 * HD_NS_PER_MS);
    at_16[2] = 1;
    return NULL;
}

static void crash_twice(void) {
    pthread_t other;
    pthread_create(&other, NULL, crash_too, NULL);
    store_at_16();
}

static void two_threads_that_crash_have_one_report(void **state) {
    (void)state;
    struct ended e = child(NULL, crash_twice);
    assert_true(e.reported);
    assert_int_equal(e.stored.address, 16);
    assert_died_by(&e, SIGSEGV);
}

static void crash_in_child(void) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        store_at_16();
    }
    waitpid(pid, &status, 0);
    _exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && hd_crash_taken() == NULL ? 11 : 12);
}

static void a_forked_child_has_no_report(void **state) {
    (void)state;
    struct ended e = child(NULL, crash_in_child);
    assert_false(e.reported);
    assert_int_equal(WEXITSTATUS(e.status), 11);
    assert_true(e.took_ns < 2 * HD_NS_PER_S);
}

/* ---- the alternate stack ----------------------------------------------------------------------- */

__attribute__((noinline)) static int overflow(volatile int *above) {
    volatile int here[256];
    here[0] = *above;
    return *above == -1 ? 0 : overflow(here) + here[0];
}

static void overflow_watched(void) {
    struct hd_mailbox *mailbox;
    int begin = 0;
    fake_mach_add_self();
    if (hd_capture_thread_enter(hd_os_memory_take(hd_capture_thread_bytes()), &mailbox) == 0) {
        overflow(&begin);
    }
}

static void *run_overflow(void *unused) {
    (void)unused;
    crashing = hd_thread_id_self().number;
    overflow_watched();
    return NULL;
}

static void overflow_in_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run_overflow, NULL);
    pthread_join(thread, NULL);
}

static void a_watched_threads_overflow_has_a_report(void **state) {
    (void)state;
    struct ended e = child(NULL, overflow_in_thread);
    assert_true(e.reported);
    assert_int_equal(e.stored.signal, SIGSEGV);
    assert_true(e.stored.own_thread);
    assert_died_by(&e, SIGSEGV);
}

/* ---- exceptions -------------------------------------------------------------------------------- */

#define VISIBLE __attribute__((visibility("default"), used))

/* Stand-ins for libc++abi: they have its names. */
typedef void (*terminate_handler)(void);
static terminate_handler terminate_now;
static const struct {
    const void *functions;
    const char *name;
} type_info = {NULL, "St12out_of_range"};
VISIBLE const char *cxx_what(void);
VISIBLE terminate_handler cxx_set_terminate(terminate_handler next) __asm__("_ZSt13set_terminatePFvvE");
VISIBLE const char *cxx_logic_what(void *object) __asm__("_ZNKSt11logic_error4whatEv");
VISIBLE const void *__cxa_current_exception_type(void);
VISIBLE void *__cxa_current_primary_exception(void);

terminate_handler cxx_set_terminate(terminate_handler next) {
    terminate_handler before = terminate_now;
    terminate_now = next;
    return before;
}

const char *cxx_logic_what(void *object) {
    return ((const char **)object)[1];
}

static const void *const functions[3] = {NULL, NULL, (const void *)cxx_logic_what};
static struct {
    const void *functions;
    const char *text;
} thrown = {functions, "vector::at out of range"};
static bool is_thrown = true;

const void *__cxa_current_exception_type(void) {
    return is_thrown ? &type_info : NULL;
}

void *__cxa_current_primary_exception(void) {
    return is_thrown ? &thrown : NULL;
}

/* Stand-ins for Foundation: a string is its text. */
typedef void (*objc_handler)(void *);
static objc_handler objc_now;
static const char *const selectors[] = {"name", "reason", "UTF8String"};
VISIBLE void NSSetUncaughtExceptionHandler(objc_handler next);
VISIBLE objc_handler NSGetUncaughtExceptionHandler(void);
VISIBLE const void *sel_registerName(const char *name);
VISIBLE const void *objc_msgSend(const void *object, const void *selector);

void NSSetUncaughtExceptionHandler(objc_handler next) {
    objc_now = next;
}

objc_handler NSGetUncaughtExceptionHandler(void) {
    return objc_now;
}

const void *sel_registerName(const char *name) {
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(selectors[i], name) == 0) {
            return selectors[i];
        }
    }
    return NULL;
}

const void *objc_msgSend(const void *object, const void *selector) {
    if (selector == selectors[2]) {
        return object;
    }
    const char *const *exception = object;
    return selector == selectors[0] ? exception[0] : exception[1];
}

static bool chained;

static void terminate_of_program(void) {
    chained = true;
    abort();
}

static void have_terminate(void) {
    terminate_now = terminate_of_program;
}

static void call_terminate(void) {
    terminate_now();
}

static void a_cxx_exception_is_stored(void **state) {
    (void)state;
    struct ended e = child(have_terminate, call_terminate);
    assert_true(e.reported && e.stored.has_exception);
    assert_int_equal(e.stored.signal, SIGABRT);
    assert_string_equal(e.stored.exception.type, "St12out_of_range");
    assert_string_equal(e.stored.exception.what, "vector::at out of range");
    assert_died_by(&e, SIGABRT);
}

static void throw_an_int(void) {
    have_terminate();
    thrown.functions = (const void *)5;
}

static void an_object_without_functions_has_no_text(void **state) {
    (void)state;
    struct ended e = child(throw_an_int, call_terminate);
    assert_true(e.reported && e.stored.has_exception);
    assert_string_equal(e.stored.exception.what, "");
    assert_died_by(&e, SIGABRT);
}

static const void *const other_functions[3] = {NULL, NULL, (const void *)abort};

static void throw_another_class(void) {
    have_terminate();
    thrown.functions = other_functions;
}

static void a_class_with_its_own_what_has_no_text(void **state) {
    (void)state;
    struct ended e = child(throw_another_class, call_terminate);
    assert_true(e.reported && e.stored.has_exception);
    assert_string_equal(e.stored.exception.type, "St12out_of_range");
    assert_string_equal(e.stored.exception.what, "");
    assert_died_by(&e, SIGABRT);
}

static void throw_nothing(void) {
    have_terminate();
    is_thrown = false;
}

static void terminate_without_exception_has_none(void **state) {
    (void)state;
    struct ended e = child(throw_nothing, call_terminate);
    assert_true(e.reported);
    assert_false(e.stored.has_exception);
    assert_died_by(&e, SIGABRT);
}

static const char *exception[2] = {"NSRangeException", "index 5 beyond bounds"};

static void objc_of_program(void *object) {
    _exit(object == exception && chained ? 21 : 22);
}

static void first_of_chain(void *object) {
    chained = true;
    objc_of_program(object);
}

static void have_objc(void) {
    objc_now = first_of_chain;
}

static void throw_objc(void) {
    objc_now(exception);
}

static void objectivecs_handler_is_chained(void **state) {
    (void)state;
    struct ended e = child(have_objc, throw_objc);
    assert_int_equal(WEXITSTATUS(e.status), 21);
}

/* As Foundation: its terminate handler calls the handler of exceptions. */
static void terminate_of_objc(void) {
    objc_now(exception);
    abort();
}

static void have_both(void) {
    terminate_now = terminate_of_objc;
}

static void objectivecs_exception_replaces_the_one_of_cxx(void **state) {
    (void)state;
    struct ended e = child(have_both, call_terminate);
    assert_true(e.reported && e.stored.has_exception);
    assert_string_equal(e.stored.exception.type, "NSRangeException");
    assert_string_equal(e.stored.exception.what, "index 5 beyond bounds");
    assert_died_by(&e, SIGABRT);
}

static void look_at_handlers(void) {
    bool ours = terminate_now != terminate_of_program && objc_now != first_of_chain;
    hd_crash_end();
    _exit(ours && terminate_now == terminate_of_program && objc_now == first_of_chain ? 31 : 32);
}

static void have_programs(void) {
    have_terminate();
    have_objc();
}

static void a_stop_restores_the_runtimes_handlers(void **state) {
    (void)state;
    struct ended e = child(have_programs, look_at_handlers);
    assert_int_equal(WEXITSTATUS(e.status), 31);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_access_is_stored),
        cmocka_unit_test(an_abort_is_stored),
        cmocka_unit_test(a_breakpoint_ends_the_process),
        cmocka_unit_test(a_signal_that_was_sent_ends_the_process),
        cmocka_unit_test(codes_have_linuxs_numbers),
        cmocka_unit_test(the_programs_handler_follows_the_report),
        cmocka_unit_test(an_ignored_signal_stays_ignored),
        cmocka_unit_test(a_stop_restores_the_actions),
        cmocka_unit_test(a_worker_without_answer_costs_three_seconds),
        cmocka_unit_test(a_handler_that_fails_ends_the_process),
        cmocka_unit_test(the_programs_handler_follows_a_failure_of_ours),
        cmocka_unit_test(two_threads_that_crash_have_one_report),
        cmocka_unit_test(a_forked_child_has_no_report),
        cmocka_unit_test(a_watched_threads_overflow_has_a_report),
        cmocka_unit_test(a_cxx_exception_is_stored),
        cmocka_unit_test(an_object_without_functions_has_no_text),
        cmocka_unit_test(a_class_with_its_own_what_has_no_text),
        cmocka_unit_test(terminate_without_exception_has_none),
        cmocka_unit_test(objectivecs_handler_is_chained),
        cmocka_unit_test(objectivecs_exception_replaces_the_one_of_cxx),
        cmocka_unit_test(a_stop_restores_the_runtimes_handlers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
