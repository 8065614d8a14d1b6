/* SPDX-License-Identifier: MIT
 *
 * The time in which the CPU quota of the process's control group was used up. Worker; no allocation.
 */
#ifndef HD_THROTTLED_H
#define HD_THROTTLED_H

#include "cause/probe_context.h"

/* Opens the group's file once, so that it stays readable where the program changes its root. */
void hd_throttled_init(struct hd_probe_context *ctx);

/* The time without a CPU for want of quota, since the group exists; 0: unknown. One or two system calls. */
uint64_t hd_throttled_ns(const struct hd_probe_context *ctx);

#endif
