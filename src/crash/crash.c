/* SPDX-License-Identifier: MIT
 *
 * Installs the handlers of crashes at start, removes them at stop, and passes the crash to the worker.
 */
#include "crash/crash.h"

#include <errno.h>
#include <signal.h>

#include "capture/linux/signal_handler.h"
#include "os/os.h"

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

/* The signals that count as crashes. SIGSYS does not, because sandboxes handle it. */
static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
enum {
    SIGNALS = sizeof signals / sizeof signals[0]
};

struct hd_crash hd_crash;
_Atomic uint32_t *_Atomic hd_crash_wake;
static struct hd_kernel_action before[SIGNALS];

struct hd_kernel_action *hd_crash_before(int signal) {
    for (unsigned i = 0; i < SIGNALS; i++) {
        if (signals[i] == signal) {
            return &before[i];
        }
    }
    return NULL;
}

void hd_crash_begin(_Atomic uint32_t *wake) {
    struct hd_kernel_action ours = {
        .handler = (void *)hd_crash_on_signal,
        .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER,
        .restorer = (void *)hd_capture_restorer,
    };
    atomic_store(&hd_crash.phase, HD_CRASH_NONE);
    atomic_store(&hd_crash_wake, wake);
    for (unsigned i = 0; i < SIGNALS; i++) {
        struct hd_kernel_action now = {.flags = 0};
        /* If the program handles a signal, its handler stays. The JVM detects null pointers by such a
         * handler, and Python's faulthandler prints stacks. */
        if (hd_os.signal_action(signals[i], NULL, &now) == 0 && now.handler == NULL) {
            before[i] = now;
            (void)hd_os.signal_action(signals[i], &ours, NULL);
        }
    }
}

void hd_crash_end(void) {
    if (atomic_exchange(&hd_crash_wake, NULL) == NULL) {
        return;
    }
    for (unsigned i = 0; i < SIGNALS; i++) {
        struct hd_kernel_action now = {.flags = 0};
        if (hd_os.signal_action(signals[i], NULL, &now) == 0 && now.handler == (void *)hd_crash_on_signal) {
            (void)hd_os.signal_action(signals[i], &before[i], NULL);
        }
    }
}

const struct hd_crash *hd_crash_taken(void) {
    return atomic_load_explicit(&hd_crash.phase, memory_order_acquire) == HD_CRASH_STORED ? &hd_crash : NULL;
}

void *hd_crash_call(void *(*f)(void)) {
    uint64_t until_ns = hd_os_now_ns() + HD_CRASH_ANSWER_NS;
    hd_crash.call = f;
    atomic_store_explicit(&hd_crash.phase, HD_CRASH_REQUESTED, memory_order_release);
    hd_os.futex_wake((uint32_t *)&hd_crash.phase, INT32_MAX, false);
    while (atomic_load_explicit(&hd_crash.phase, memory_order_acquire) == HD_CRASH_REQUESTED) {
        if (hd_os.futex_wait((uint32_t *)&hd_crash.phase, HD_CRASH_REQUESTED, until_ns, false) ==
            -ETIMEDOUT) {
            return NULL;
        }
    }
    return hd_crash.result;
}

void hd_crash_written(void) {
    atomic_store_explicit(&hd_crash.phase, HD_CRASH_WRITTEN, memory_order_release);
    hd_os.futex_wake((uint32_t *)&hd_crash.phase, INT32_MAX, false);
}
