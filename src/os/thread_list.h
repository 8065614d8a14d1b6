/* SPDX-License-Identifier: MIT
 *
 * A walk over the threads of a process, and their names. `proc_fd` is a descriptor of the
 * process's folder in /proc; systems without /proc ignore it, and read the calling process. Any thread; no
 * allocation, no lock.
 */
#ifndef HD_THREAD_LIST_H
#define HD_THREAD_LIST_H

#include "os/thread_id.h"

struct hd_thread_list {
    int fd;
    long bytes, at;
    _Alignas(8) char entries[2048];
};

/* Starts a walk. If the caller stops before hd_thread_list_next has returned HD_THREAD_ID_NONE, the caller
 * must call hd_thread_list_end. */
void hd_thread_list_start(struct hd_thread_list *t, int proc_fd);
/* Returns the next thread. HD_THREAD_ID_NONE: there is no further thread, or the list cannot be read. */
hd_thread_id hd_thread_list_next(struct hd_thread_list *t);
void hd_thread_list_end(struct hd_thread_list *t);

/* Reads the thread's name, truncated to `size`, with a NUL at the end. The name is empty if the thread has
 * none, or has ended. */
void hd_thread_name(int proc_fd, hd_thread_id thread, char *name, size_t size);

#endif
