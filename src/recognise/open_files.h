/* SPDX-License-Identifier: MIT
 *
 * Worker: what stands behind a wait's descriptor numbers, which are given anew at once: objects. No
 * allocation.
 */
#ifndef HD_OPEN_FILES_H
#define HD_OPEN_FILES_H

#include "recognise/descriptors.h"
#include "recognise/kinds.h"
#include "recognise/rule.h"

/* What the link of /proc says (an inode for sockets and pipes); for anonymous ones also the number, and what
 * counts their makers. *open: set to false when the thread has no such descriptor. */
uint64_t hd_open_file_of(int proc_fd, int tid, int fd, bool *open);

/* All of a wait. False: not all of them are open now. */
bool hd_open_files_set(int proc_fd, int tid, const struct hd_wait_descriptors *id, struct hd_set *set);

/* The kinds of a wait's descriptors. Bounded: some hundred links of /proc at most. */
void hd_files_read_kinds(int proc_fd, int tid, const struct hd_wait_descriptors *id, struct hd_kinds *kinds);

/* Whether this number is an epoll instance now. */
bool hd_open_files_epoll_open(int proc_fd, int tid, int fd);

#endif
