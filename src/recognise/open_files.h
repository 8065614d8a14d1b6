/* SPDX-License-Identifier: MIT
 *
 * Reads which files are open behind a wait's descriptor numbers, of this process or of another one. No
 * allocation, no lock; each call makes system calls. `proc_fd` is the process's folder of /proc, `thread` a
 * thread of it.
 */
#ifndef HD_OPEN_FILES_H
#define HD_OPEN_FILES_H

#include "os/thread_id.h"
#include "recognise/kinds.h"
#include "recognise/set.h"

/* Identity of the open file: an inode for a socket or a pipe, for other files a hash of what the system says.
 * Sets *open to false if the number is not open. */
uint64_t hd_open_files_identity(int proc_fd, hd_thread_id thread, int fd, bool *open);

/* Identities of all the wait's files. False: some are closed by now. */
bool hd_open_files_set(int proc_fd, hd_thread_id thread, const struct hd_wait_descriptors *d,
                       struct hd_set *set);

/* Kinds of the wait's descriptors. Reads at most some hundred links of /proc. */
void hd_open_files_kinds(int proc_fd, hd_thread_id thread, const struct hd_wait_descriptors *d,
                         struct hd_kinds *kinds);

/* True if the number is an epoll instance now. */
bool hd_open_files_is_epoll(int proc_fd, hd_thread_id thread, int fd);

#endif
