/* SPDX-License-Identifier: MIT
 *
 * Installs the handlers of crashes at start, and removes them at stop.
 */
#include <signal.h>

#include "capture/linux/signal_handler.h"
#include "crash/crash.h"
#include "crash/linux/crash_handler.h"
#include "os/os.h"

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

/* The signals that count as crashes. SIGSYS does not, because sandboxes handle it. */
static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
enum {
    SIGNALS = sizeof signals / sizeof signals[0]
};

static struct hd_kernel_action before[SIGNALS];

struct hd_kernel_action *hd_crash_before(int signal) {
    for (unsigned i = 0; i < SIGNALS; i++) {
        if (signals[i] == signal) {
            return &before[i];
        }
    }
    return NULL;
}

void hd_crash_begin(_Atomic uint32_t *wake, bool mach_exceptions) {
    (void)mach_exceptions;
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
