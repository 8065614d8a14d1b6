/* SPDX-License-Identifier: MIT
 *
 * Finds the file, socket or pipe that a call works on, by a descriptor or a path in the call's arguments.
 * Runs on the worker thread; allocates nothing.
 */
#ifndef HD_CAUSE_DARWIN_DESCRIPTOR_H
#define HD_CAUSE_DARWIN_DESCRIPTOR_H

#include "cause/probe_context.h"

/* Fills out->evidence and out->peer with what descriptor `fd` refers to. */
void hd_descriptor_find(int fd, struct hd_probe *out);

/* Like hd_descriptor_find, for a call of the class HD_WAIT_FILE, which has a path or a descriptor. */
void hd_descriptor_of_file(const struct hd_probe_context *ctx, int32_t nr, const struct hd_capture *c,
                           struct hd_probe *out);

/* Like hd_descriptor_find, for a call that waits for any descriptor of a set: the one that most likely
 * explains why the thread is blocked. An empty set gives no evidence. */
void hd_descriptor_of_set(const struct hd_probe_context *ctx, int32_t nr, const struct hd_capture *c,
                          struct hd_probe *out);

#endif
