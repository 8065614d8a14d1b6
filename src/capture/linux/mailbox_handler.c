/* SPDX-License-Identifier: MIT
 *
 * The calling thread's mailbox, in a thread-local variable. Async-signal-safe.
 */
#include "capture/mailbox.h"

#include "capture/linux/own_mailbox.h"

__thread struct hd_mailbox *volatile hd_mailbox_own;

void hd_capture_set_mailbox(struct hd_mailbox *m) {
    hd_mailbox_own = m;
}

struct hd_mailbox *hd_capture_own_mailbox(void) {
    return hd_mailbox_own;
}
