/* SPDX-License-Identifier: MIT
 *
 * Worker: how long the process's control group was kept from the CPUs by its quota. The file is opened once:
 * where the program changes its root it stays readable. No allocation.
 */
#ifndef HD_THROTTLED_H
#define HD_THROTTLED_H

#include "cause/probe_context.h"

void hd_throttled_init(struct hd_probe_context *ctx);

/* How long the quota of the process's control group has kept it from the CPUs, ever; 0 where that is not
 * known. A system call or two. */
uint64_t hd_throttled_ns(const struct hd_probe_context *ctx);

#endif
