/* SPDX-License-Identifier: MIT
 *
 * The signal handler for crashes. It stores signal and registers, wakes the worker, and waits for the report.
 * Then it restores the action that the program had before. Async-signal-safe: it allocates nothing, takes no
 * lock, and leaves errno unchanged. The wait is a row of short sleeps with a limit, so the handler always
 * ends.
 */
#include "crash/darwin/crash_handler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "capture/darwin/registers.h"
#include "crash/crash.h"
#include "crash/darwin/exception.h"
#include "crash/darwin/mach_exceptions.h"
#include "os/os.h"

#define NAP_NS (1 * HD_NS_PER_MS)

/* The signals that count as crashes. SIGSYS does not, because sandboxes handle it. */
static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
enum {
    SIGNALS = sizeof signals / sizeof signals[0]
};

static struct sigaction before[SIGNALS];
static int own_pid; /* a forked child inherits its parent's number, and has no worker */

static void store(int signal, const siginfo_t *info, const void *context) {
    struct hd_mach_registers registers;
    hd_crash.thread = hd_thread_id_self(); /* first, so that a failure of what follows is seen as such */
    hd_crash_context_registers(context, &registers);
    hd_crash.signal = signal;
    hd_crash.code = hd_crash_code(signal, info->si_code);
    hd_crash.address = hd_crash.code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0;
    hd_crash.at_ns = hd_os_now_ns();
    hd_registers_store(&hd_crash.regs, &registers);
}

static void wake_worker(void) {
    _Atomic uint32_t *wake = atomic_load_explicit(&hd_crash_wake, memory_order_acquire);
    if (wake != NULL) {
        atomic_fetch_add_explicit(wake, 1, memory_order_seq_cst);
        hd_os.futex_wake((uint32_t *)wake, INT32_MAX, false);
    }
}

/* Calls hd_crash.call for the worker. The phase becomes CALLED only if the worker has not given up. */
static void call_for_worker(void) {
    uint32_t requested = HD_CRASH_REQUESTED;
    hd_crash.result = hd_crash.call();
    if (atomic_compare_exchange_strong(&hd_crash.phase, &requested, HD_CRASH_CALLED)) {
        hd_os.futex_wake((uint32_t *)&hd_crash.phase, INT32_MAX, false);
    }
}

/* Waits until the report is written. A thread that crashes second waits too, because the process must not end
 * before the first crash has its report. */
static void wait_for_report(uint64_t until_ns, bool first) {
    while (hd_os_now_ns() < until_ns) {
        uint32_t phase = atomic_load_explicit(&hd_crash.phase, memory_order_acquire);
        if (phase == HD_CRASH_WRITTEN) {
            return;
        }
        if (phase == HD_CRASH_REQUESTED && first) {
            call_for_worker();
        } else {
            hd_os_nap(NAP_NS);
        }
    }
}

/* Restores the signal's earlier action, so that the crash happens as without us: the program's handler runs,
 * or the process ends. A failed instruction runs again after the handler's return, and fails again. A signal
 * that was sent does not come again by itself, and neither does a breakpoint. So the function sends it again,
 * and the kernel delivers it as the handler returns. */
static void let_it_happen(int signal, const siginfo_t *info) {
    for (unsigned i = 0; i < SIGNALS; i++) {
        if (signals[i] == signal) {
            (void)sigaction(signal, &before[i], NULL);
        }
    }
    if (hd_crash_code(signal, info->si_code) == 0 || signal == SIGTRAP) {
        (void)pthread_kill(pthread_self(), signal);
    }
}

/* Unblocks the signals of crashes, and stores the mask that the thread had. The kernel keeps a blocked signal
 * of a fault for later, and the instruction fails again without end. The kernel itself blocks the handler's
 * own signal, and abort() blocks the others. */
static void unblock(sigset_t *mask) {
    sigset_t crashes;
    (void)sigemptyset(&crashes);
    for (unsigned i = 0; i < SIGNALS; i++) {
        (void)sigaddset(&crashes, signals[i]);
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &crashes, mask);
}

static void on_signal(int signal, siginfo_t *info, void *context) {
    int error = errno;
    sigset_t mask;
    unblock(&mask); /* the handler itself may fail */
    uint32_t none = HD_CRASH_NONE;
    bool child = hd_os.get_pid() != own_pid;
    bool first = !child && atomic_compare_exchange_strong(&hd_crash.phase, &none, HD_CRASH_STORING);
    if (first) {
        store(signal, info, context);
        atomic_store_explicit(&hd_crash.phase, HD_CRASH_STORED, memory_order_release);
        wake_worker();
    }
    /* true: the handler itself has crashed, or the crash happens again as it must */
    bool again = !first && hd_thread_id_equal(hd_crash.thread, hd_thread_id_self());
    if (!child && !again && atomic_load_explicit(&hd_crash_wake, memory_order_relaxed) != NULL) {
        wait_for_report(hd_os_now_ns() + HD_CRASH_WAIT_NS, first);
    }
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL); /* a signal sent again comes after the return */
    let_it_happen(signal, info);
    errno = error;
}

static bool is_ours(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_signal;
}

/* Blocks no other signal, as `unblock` says. */
static void install(void) {
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    (void)sigemptyset(&ours.sa_mask);
    own_pid = hd_os.get_pid();
    for (unsigned i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        /* A signal that the program ignores ends no process. */
        if (sigaction(signals[i], NULL, &now) == 0 && !is_ours(&now) && now.sa_handler != SIG_IGN) {
            before[i] = now;
            (void)sigaction(signals[i], &ours, NULL);
        }
    }
}

static void restore(void) {
    for (unsigned i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && is_ours(&now)) {
            (void)sigaction(signals[i], &before[i], NULL);
        }
    }
}

void hd_crash_begin(_Atomic uint32_t *wake, bool mach_exceptions) {
    atomic_store(&hd_crash.phase, HD_CRASH_NONE);
    atomic_store(&hd_crash_wake, wake);
    hd_crash_exceptions_install();
    install();
    if (mach_exceptions) {
        (void)hd_mach_exceptions_begin(); /* without them, the signals are enough for most crashes */
    }
}

void hd_crash_end(void) {
    if (atomic_exchange(&hd_crash_wake, NULL) != NULL) {
        hd_mach_exceptions_end();
        restore();
        hd_crash_exceptions_remove();
    }
}
