/* SPDX-License-Identifier: MIT
 *
 * Reads the descriptors that a poll, select or epoll waits for. Runs on the worker thread; allocates nothing.
 */
#ifndef HD_DESCRIPTOR_SET_H
#define HD_DESCRIPTOR_SET_H

#include "cause/probe_context.h"

#define HD_SET_DESCRIPTORS_MAX 16

/* Writes to `fds` the first descriptors of the set that thread `tid` waits for; capture `c` has the thread's
 * system call. Returns the number of descriptors written. -1: the function found no descriptor, but could not
 * read the whole set. */
int hd_descriptor_set_members(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                              int fds[HD_SET_DESCRIPTORS_MAX]);

/* Fills out->evidence with the descriptor of the set that most likely explains why thread `tid` is blocked.
 * If that descriptor is a child's pidfd, also fills out->child.pid. An empty set gives no evidence. */
void hd_descriptor_set_find(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                            struct hd_probe *out);

/* Returns the id of the process that pidfd `fd` refers to; 0: the process is gone, or unknown. */
int32_t hd_descriptor_pidfd_process(const struct hd_probe_context *ctx, int tid, int fd);

#endif
