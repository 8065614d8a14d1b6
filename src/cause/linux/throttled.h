/* SPDX-License-Identifier: MIT
 *
 * Reads the time in which the process's control group had used up its CPU quota. Runs on the worker thread;
 * allocates nothing.
 */
#ifndef HD_THROTTLED_H
#define HD_THROTTLED_H

#include "cause/probe_context.h"

/* Opens the statistics file of the control group once, so that the file stays readable after the program has
 * changed its root folder. */
void hd_throttled_init(struct hd_probe_context *ctx);

/* Returns the time in which tasks of the control group waited for new CPU quota since the group was created;
 * 0: none, or unknown. Makes one or two system calls. */
uint64_t hd_throttled_ns(const struct hd_probe_context *ctx);

#endif
