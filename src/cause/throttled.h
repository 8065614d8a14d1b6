/* SPDX-License-Identifier: MIT
 *
 * Reads for how long the kernel throttled the process's control group, because the group had used up its CPU
 * quota. Runs on the worker thread; allocates nothing.
 */
#ifndef HD_THROTTLED_H
#define HD_THROTTLED_H

#include "cause/probe_context.h"

/* Opens the file cpu.stat of the process's control group once, so that the file stays readable after the
 * program has changed its root folder. */
void hd_throttled_init(struct hd_probe_context *ctx);

/* Returns for how long the kernel has throttled the process's control group since the group's creation,
 * because its CPU quota was used up. 0: not at all, or unknown. Makes one or two system calls. */
uint64_t hd_throttled_ns(const struct hd_probe_context *ctx);

#endif
