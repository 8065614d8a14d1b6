/* SPDX-License-Identifier: MIT
 *
 * The descriptors that a poll, select or epoll waits for. Worker; no allocation.
 */
#ifndef HD_DESCRIPTOR_SET_H
#define HD_DESCRIPTOR_SET_H

#include "cause/probe_context.h"

#define HD_SET_DESCRIPTORS_MAX 16

/* Writes the first descriptors of the set that thread `tid` waits for in `c`. Returns their count; -1: the
 * set is not readable, and may have some. */
int hd_descriptor_set_members(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                              int fds[HD_SET_DESCRIPTORS_MAX]);

/* Fills out->evidence and out->child.pid with the descriptor of the set that says most. An empty set gives no
 * evidence. */
void hd_descriptor_set_find(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                            struct hd_probe *out);

/* The process of a pidfd; 0: the process is gone, or unknown. */
int32_t hd_descriptor_pidfd_process(const struct hd_probe_context *ctx, int tid, int fd);

#endif
