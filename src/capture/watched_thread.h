/* SPDX-License-Identifier: MIT
 *
 * The watched thread's own part of capturing: the process's signal handler, and the thread's mailbox and
 * alternate stack. The thread calls these functions at the start and the end of a watch.
 */
#ifndef HD_WATCHED_THREAD_H
#define HD_WATCHED_THREAD_H

#include "capture/mailbox.h"

/* True for signals that the kernel ignores by default: a late one harms neither the program nor a child that
 * has reset its handlers. */
bool hd_capture_signal_may_be(int signal);

/* Installs the handler for `signal`, once for the process, before any watch. Idempotent; the handler stays.
 * The result is -EBUSY where the program has an action for the signal, and keeps it. To ignore the signal is
 * such an action, since a program that is executed inherits it. The result is -EINVAL where the kernel does
 * not ignore the signal by default. */
int hd_capture_signal_init(int signal);
/* Removes the handler if it is still ours, before a seccomp filter comes that may kill for its calls. Writes
 * no memory, so a child that shares memory may call. Async-signal-safe. */
void hd_capture_signal_end(void);

/* Bytes of the memory that a watch of a thread needs. */
size_t hd_capture_thread_bytes(void);
/* The calling thread starts to be watched. Gives it an alternate stack, unless the program has one; stores
 * the mailbox in *out and as the thread's own; takes the dry sample. `memory` is aligned to a page and lives
 * until the thread has left and the monitor has closed the target, in either order. It has a guard page: give
 * it back by hd_os_memory_give only. */
int hd_capture_thread_enter(void *memory, struct hd_mailbox **out);
/* The calling thread ends the watch. Waits some microseconds if the monitor is reading its stack. The thread
 * may end after the call. -EBUSY: the caller runs in a handler on the alternate stack, so `memory` must stay.
 */
int hd_capture_thread_leave(struct hd_mailbox *m);
/* The monitor does not use the mailbox any more. Monitor. */
void hd_capture_thread_closed(struct hd_mailbox *m);
/* Ends a watch of the calling thread that the monitor has closed already, and returns its memory. NULL: there
 * is no such watch. */
void *hd_capture_thread_leave_closed(void);

/* Whether the frame of our handler fits the stack where the kernel puts it. That is the alternate stack, if
 * there is one, else the stack in use, which is large. A coroutine's small stack is in use there only if the
 * program has handlers with SA_ONSTACK and no alternate stack, as Python has. */
bool hd_capture_mailbox_has_space(const struct hd_mailbox *m);

#endif
