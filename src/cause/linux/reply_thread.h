/* SPDX-License-Identifier: MIT
 *
 * Worker: functions that ask another process and let a thread of their library wait for the reply. The thread
 * that hangs waits for that one alone, on a condition variable or an event descriptor: only the functions say
 * for what.
 */
#ifndef HD_REPLY_THREAD_H
#define HD_REPLY_THREAD_H

#include "cause/evidence.h"
#include "image/functions.h"
#include "image/modules.h"

/* Fills what the thread with these frames asks for, if that is known and it waits for that: of functions that
 * call each other the outermost, which the program called. Returns the name of the thread that waits for the
 * reply; NULL: it has none. */
const char *hd_reply_find(struct hd_functions *known, struct hd_modules *m, const struct hd_frame *frames,
                          uint32_t count, struct hd_probe *out);

/* The system call that a thread is in: number and arguments. False: it is in none, or may not be looked at.
 * `proc_fd`: /proc/self, or that of another process. */
bool hd_thread_syscall(int proc_fd, int tid, struct hd_capture *out);

/* The id of the first thread of this name, and the system call that it is in: number and arguments. 0: there
 * is none, or it is in none. `proc_fd`: /proc/self. */
int hd_reply_thread_find(int proc_fd, const char *name, struct hd_capture *out);

#endif
