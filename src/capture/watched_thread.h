/* SPDX-License-Identifier: MIT
 *
 * A watched thread prepares itself for captures by these functions at the start of a watch, and leaves by
 * them at the end. The functions install the process's signal handler, and give the thread a mailbox and an
 * alternate stack.
 */
#ifndef HD_WATCHED_THREAD_H
#define HD_WATCHED_THREAD_H

#include "capture/mailbox.h"

/* Returns true for the signals that Hangdog may use: the kernel ignores them by default. If such a signal
 * comes late, it harms neither the program nor a child that has reset its handlers. */
bool hd_capture_signal_may_be(int signal);

/* Installs the handler for `signal`, once for the process, before any watch. A second call changes nothing,
 * and the handler stays installed. Returns 0 or an error.
 *
 * -EBUSY: the program has an action for the signal, and that action stays. SIG_IGN counts as such an action,
 * because a program that this process executes would inherit it.
 *
 * -EINVAL: the kernel does not ignore the signal by default. */
int hd_capture_signal_init(int signal);
/* Removes our handler from each signal that still has it. Call this before a seccomp filter that may kill the
 * process for the handler's system calls. The function writes no memory, so a vforked child, which shares its
 * parent's memory, may call it. Async-signal-safe. */
void hd_capture_signal_end(void);

/* Returns the size of `memory` for hd_capture_thread_enter. */
size_t hd_capture_thread_bytes(void);
/* Starts the watch of the calling thread. Gives the thread an alternate signal stack, unless the thread has
 * one or the program's handlers need the thread's whole stack. Stores the thread's new mailbox in *out, and
 * takes the dry sample. Returns 0 or an error.
 *
 * `memory` has hd_capture_thread_bytes bytes and starts at a page. It must stay mapped until the thread
 * has left the watch and the monitor has closed the target, in either order. Unmap it by
 * hd_os_memory_give, because it contains a guard page. */
int hd_capture_thread_enter(void *memory, struct hd_mailbox **out);
/* Ends the watch of the calling thread, which may exit after the call. Waits some microseconds if the monitor
 * is reading the thread's stack. Returns 0, or -EBUSY if the caller is a signal handler on the alternate
 * stack: `memory` must then stay mapped. */
int hd_capture_thread_leave(struct hd_mailbox *m);
/* Marks the mailbox as closed: the monitor does not use it any more. On the monitor thread. */
void hd_capture_thread_closed(struct hd_mailbox *m);
/* If the monitor has closed the calling thread's mailbox, ends the watch and returns its memory, which the
 * caller must free. Otherwise returns NULL. Also returns NULL if the caller is a signal handler on the
 * alternate stack, because the alternate stack is a part of that memory. */
void *hd_capture_thread_leave_closed(void);

/* Returns whether the frame of our handler fits the stack on which the kernel would put it. If the thread
 * has an alternate stack, the kernel uses that one. Otherwise the kernel uses the current stack, which
 * counts as large enough. Hangdog gives a thread no alternate stack if the program has handlers with
 * SA_ONSTACK, as Python has. Only in such a program the current stack may be a coroutine's small stack. */
bool hd_capture_mailbox_has_space(const struct hd_mailbox *m);

#endif
