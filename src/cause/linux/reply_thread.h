/* SPDX-License-Identifier: MIT
 *
 * Finds requests to another process whose reply a thread of a library reads. Worker; no allocation.
 *
 * The thread that hangs waits for the library's thread, on a condition variable or an event descriptor. Only
 * the functions on its stack show the request.
 */
#ifndef HD_REPLY_THREAD_H
#define HD_REPLY_THREAD_H

#include "cause/evidence.h"
#include "image/functions.h"
#include "image/modules.h"

/* Fills out->peer where the frames have a known function that waits for a reply. Where such functions call
 * each other, the outermost counts: the program called it. Returns the name of the thread that reads the
 * reply; NULL: none does. */
const char *hd_reply_find(struct hd_functions *known, struct hd_modules *m, const struct hd_frame *frames,
                          uint32_t count, struct hd_probe *out);

/* Reads the number and the arguments of the system call that a thread is in. False: the thread is in none, or
 * reading is not permitted. `proc_fd`: the process's folder in /proc. */
bool hd_thread_syscall(int proc_fd, int tid, struct hd_capture *out);

/* The id of the first thread with this name that is in a system call, and that call; 0: none. */
int hd_reply_thread_find(int proc_fd, const char *name, struct hd_capture *out);

#endif
