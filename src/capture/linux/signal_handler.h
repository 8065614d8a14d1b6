/* SPDX-License-Identifier: MIT
 *
 * The signal handler that runs on a watched thread, and the mailbox that it answers to. No sanitizer
 * instruments the code. Async-signal-safe.
 */
#ifndef HD_SIGNAL_HANDLER_H
#define HD_SIGNAL_HANDLER_H

#include "capture/mailbox.h"

/* The number of this process, set before the handler is installed. A forked child finds 0 there. */
extern const uint32_t *hd_capture_alive;
void hd_capture_on_signal(int signal, void *info, void *context);
void hd_capture_restorer(void);

/* The calling thread's mailbox; NULL: it has none. */
void hd_capture_set_mailbox(struct hd_mailbox *m);
struct hd_mailbox *hd_capture_own_mailbox(void);

/* The kernel's own struct sigaction, the same on each machine that we support. */
struct hd_kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

#endif
