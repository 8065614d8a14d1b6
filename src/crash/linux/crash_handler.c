/* SPDX-License-Identifier: MIT
 *
 * The signal handler for crashes. It stores signal and registers, wakes the worker, and waits for the report.
 * Then it lets the crash end the process. Async-signal-safe: it calls no libc function and leaves errno
 * unchanged. The file is built without sanitizers.
 */
#include <signal.h>
#include <time.h>

#include "capture/arch/linux_context.h"
#include "capture/linux/signal_handler.h"
#include "crash/crash.h"
#include "crash/linux/crash_handler.h"
#include "os/linux/syscall.h"

#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

static uint64_t now_ns(void) {
    struct timespec t = {.tv_sec = 0};
    (void)hd_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t);
    return (uint64_t)t.tv_sec * HD_NS_PER_S + (uint64_t)t.tv_nsec;
}

static hd_thread_id own_id(void) {
    return hd_thread_id_of((int)hd_syscall0(SYS_gettid));
}

static void store(int signal, const siginfo_t *info, void *context) {
    hd_crash.thread = own_id();
    hd_crash.signal = signal;
    hd_crash.code = info->si_code;
    hd_crash.address = info->si_code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0;
    hd_crash.at_ns = now_ns();
    hd_machine_context_regs(&hd_crash.regs, context);
}

static void wake_worker(void) {
    _Atomic uint32_t *wake = atomic_load_explicit(&hd_crash_wake, memory_order_acquire);
    if (wake != NULL) {
        atomic_fetch_add_explicit(wake, 1, memory_order_seq_cst);
        (void)hd_syscall4(SYS_futex, (long)wake, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
    }
}

/* Calls hd_crash.call for the worker, because that function reads thread-local variables of the crashed
 * thread. The phase becomes CALLED only if the worker has not given up meanwhile. */
static void call_for_worker(void) {
    uint32_t requested = HD_CRASH_REQUESTED;
    hd_crash.result = hd_crash.call();
    if (atomic_compare_exchange_strong(&hd_crash.phase, &requested, HD_CRASH_CALLED)) {
        (void)hd_syscall4(SYS_futex, (long)&hd_crash.phase, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
    }
}

/* Waits until the report is written. A thread that crashes second waits too, because the process must not end
 * before the first crash has its report. */
static void wait_for_report(uint64_t until_ns, bool first) {
    uint32_t phase = HD_CRASH_NONE;
    for (uint64_t now = now_ns(); now < until_ns; now = now_ns()) {
        phase = atomic_load_explicit(&hd_crash.phase, memory_order_acquire);
        if (phase == HD_CRASH_WRITTEN) {
            return;
        }
        if (phase == HD_CRASH_REQUESTED && first) {
            call_for_worker();
            continue;
        }
        struct timespec left = {.tv_sec = (time_t)((until_ns - now) / HD_NS_PER_S),
                                .tv_nsec = (long)((until_ns - now) % HD_NS_PER_S)};
        (void)hd_syscall4(SYS_futex, (long)&hd_crash.phase, FUTEX_WAIT_PRIVATE, phase, (long)&left);
    }
}

/* Restores the signal's earlier action, so that the crash happens as without us. A failed instruction runs
 * again after the handler's return, and fails again. A signal that a thread or process sent does not come
 * again by itself, and neither does a breakpoint. So the function sends the signal again, and the kernel
 * delivers it as the handler returns. */
static void let_it_happen(int signal, const siginfo_t *info) {
    const struct hd_kernel_action *before = hd_crash_before(signal);
    if (before != NULL) {
        (void)hd_syscall4(SYS_rt_sigaction, signal, (long)before, 0, sizeof before->mask);
    }
    if (info->si_code <= 0 || signal == SIGTRAP) {
        (void)hd_syscall3(SYS_tgkill, hd_syscall0(SYS_getpid), hd_syscall0(SYS_gettid), signal);
    }
}

void hd_crash_on_signal(int signal, void *info, void *context) {
    uint32_t none = HD_CRASH_NONE;
    /* A forked child has no worker, and finds our memory wiped. A vforked child shares memory with its
     * parent, which may crash later and then needs hd_crash for its own report. So a child stores nothing. */
    bool child = hd_capture_alive != NULL && *hd_capture_alive != (uint32_t)hd_syscall0(SYS_getpid);
    bool first = !child && atomic_compare_exchange_strong(&hd_crash.phase, &none, HD_CRASH_STORING);
    if (first) {
        store(signal, info, context);
        atomic_store_explicit(&hd_crash.phase, HD_CRASH_STORED, memory_order_release);
        wake_worker();
    }
    bool again = !first && hd_thread_id_equal(hd_crash.thread, own_id());
    if (!child && !again && atomic_load_explicit(&hd_crash_wake, memory_order_relaxed) != NULL) {
        wait_for_report(now_ns() + HD_CRASH_WAIT_NS, first);
    }
    let_it_happen(signal, info);
}
