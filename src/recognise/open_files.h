/* SPDX-License-Identifier: MIT
 *
 * Reads from /proc which files are open behind the descriptor numbers of a wait. The process may be this one
 * or another. No allocation, no lock; each function makes system calls. `proc_fd`: the process's folder in
 * /proc. `thread`: a thread of this process.
 */
#ifndef HD_OPEN_FILES_H
#define HD_OPEN_FILES_H

#include "os/thread_id.h"
#include "recognise/kinds.h"
#include "recognise/set.h"

/* Returns a hash that identifies the file that is open with the descriptor number `fd`. The hash is made from
 * the file's link in /proc, which for a socket or a pipe contains the inode. For a file without a name, such
 * as an eventfd, `fd` is also part of the hash. If no file is open with this number, sets *open to false;
 * otherwise leaves *open unchanged. */
uint64_t hd_open_files_identity(int proc_fd, hd_thread_id thread, int fd, bool *open);

/* Stores the identities of all files of the wait with the descriptors `d` in `set`. False: some of these
 * files are closed by now. */
bool hd_open_files_set(int proc_fd, hd_thread_id thread, const struct hd_wait_descriptors *d,
                       struct hd_set *set);

/* Stores the kinds of the descriptors `d` of a wait in `kinds`. For each pipe or socket this function reads
 * up to 256 links in /proc, to find the pipe's or socket's other end. */
void hd_open_files_kinds(int proc_fd, hd_thread_id thread, const struct hd_wait_descriptors *d,
                         struct hd_kinds *kinds);

/* True if `fd` is the number of an epoll instance now. */
bool hd_open_files_is_epoll(int proc_fd, hd_thread_id thread, int fd);

#endif
