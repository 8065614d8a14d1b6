/* SPDX-License-Identifier: MIT
 *
 * Reads the time in which the process's control group had used up its CPU quota. On the worker thread; no
 * allocation.
 */
#ifndef HD_THROTTLED_H
#define HD_THROTTLED_H

#include "cause/probe_context.h"

/* Opens the group's file once, so that it stays readable after the program has changed its root folder. */
void hd_throttled_init(struct hd_probe_context *ctx);

/* Returns the time in which tasks of the group waited for new CPU quota since the group was created; 0: none,
 * or unknown. Makes one or two system calls. */
uint64_t hd_throttled_ns(const struct hd_probe_context *ctx);

#endif
