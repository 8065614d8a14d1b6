/* SPDX-License-Identifier: MIT
 *
 * Finds out whether a thread waits for the reply to a request, such as a D-Bus call. Runs on the worker
 * thread; allocates nothing.
 *
 * Most libraries read replies in a thread of their own. The requesting thread waits for that thread at a
 * condition variable or an event descriptor. So only the functions on the stack show the request.
 */
#ifndef HD_REPLY_THREAD_H
#define HD_REPLY_THREAD_H

#include "cause/evidence.h"
#include "image/functions.h"
#include "image/modules.h"

/* Fills out->peer if the stack frames have a function of `known`, the functions that wait for a reply. If one
 * such function calls another, the outermost one counts, because the program called that one. Fills
 * out->party if the request's message in capture `c` names a D-Bus service. Returns the
 * name of the library's thread that reads the reply. NULL: the thread waits for no reply, or no thread with a
 * known name reads the reply. */
const char *hd_reply_find(struct hd_functions *known, struct hd_modules *m, const struct hd_capture *c,
                          const struct hd_frame *frames, uint32_t count, struct hd_probe *out);

/* True: hd_reply_find has found a look-up of a name that waits at a socket of the thread. */
bool hd_reply_is_of_resolver(const struct hd_probe *p);

/* Writes the number and the arguments of the system call that thread `tid` is in to *out. If the thread is in
 * no call, the number is HD_SYSCALL_NONE. False: the kernel does not permit the read, or the thread has
 * ended. `proc_fd`: the process's folder in /proc. */
bool hd_thread_syscall(int proc_fd, int tid, struct hd_capture *out);

/* Returns the id of the first thread with name `name`, and writes that thread's system call to *out. 0: there
 * is no thread with that name, or the thread's call cannot be read. */
int hd_reply_thread_find(int proc_fd, const char *name, struct hd_capture *out);

#endif
