/* SPDX-License-Identifier: MIT
 *
 * Worker: for how long tasks had to wait for memory, a CPU or a disk, as the kernel counts it (PSI), and how
 * near the process's control group is to its limit of memory. A kernel may have neither. No allocation.
 */
#ifndef HD_PRESSURE_H
#define HD_PRESSURE_H

#include "cause/probe_context.h"

void hd_pressure_init(struct hd_probe_context *ctx);

/* The time in which some task of the group waited, ever; of the machine where the group has no such file. */
void hd_pressure_read(const struct hd_probe_context *ctx, uint64_t stall_ns[HD_PRESSURES]);

/* What the group has used, and its limit; 0: it has none. */
void hd_pressure_memory(const struct hd_probe_context *ctx, uint64_t *used, uint64_t *limit);

#endif
