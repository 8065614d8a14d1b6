/* SPDX-License-Identifier: MIT
 *
 * The calling thread's mailbox; NULL: the thread has none. Async-signal-safe.
 */
#ifndef HD_OWN_MAILBOX_H
#define HD_OWN_MAILBOX_H

struct hd_mailbox;

/* hd_core is built in the initial-exec model. In it the first access to a thread-local variable does not
 * allocate, so the signal handler may access this one. */
extern __thread struct hd_mailbox *volatile hd_mailbox_own;

#endif
