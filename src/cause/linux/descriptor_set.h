/* SPDX-License-Identifier: MIT
 *
 * Worker: the descriptors that a poll, select or epoll waits for. No allocation.
 */
#ifndef HD_DESCRIPTOR_SET_H
#define HD_DESCRIPTOR_SET_H

#include "cause/probe_context.h"

#define HD_SET_DESCRIPTORS_MAX 16

/* The first ones of the set that thread `tid` waits for in `c`. Their count; -1: none is known, and there may
 * be some. */
int hd_set_members(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                   int fds[HD_SET_DESCRIPTORS_MAX]);

/* Fills out->evidence and out->child.pid with one word for the set. */
void hd_set_kind(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                 struct hd_probe *out);

/* The process that a descriptor is of; 0: it is gone, or not known. */
int32_t hd_descriptor_pidfd_process(const struct hd_probe_context *ctx, int tid, int fd);

#endif
