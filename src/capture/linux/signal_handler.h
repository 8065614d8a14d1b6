/* SPDX-License-Identifier: MIT
 *
 * The signal handler that runs on a watched thread, and the mailbox to which it writes its answer. No
 * sanitizer instruments the code. Async-signal-safe.
 */
#ifndef HD_SIGNAL_HANDLER_H
#define HD_SIGNAL_HANDLER_H

#include "capture/mailbox.h"

/* The number of this process, set before the handler is installed. In a forked child the kernel has wiped
 * the number's memory, so the number is 0. */
extern const uint32_t *hd_capture_alive;
void hd_capture_on_signal(int signal, void *info, void *context);
void hd_capture_restorer(void);

/* The kernel's own struct sigaction, which is the same on each CPU that we support. */
struct hd_kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

#endif
