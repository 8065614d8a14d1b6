/* SPDX-License-Identifier: MIT
 *
 * The kernel's pressure statistics (PSI): how long tasks waited for memory, a CPU or a disk. And the memory
 * of the process's control group, with its limit. A kernel may have neither. Worker; no allocation.
 */
#ifndef HD_PRESSURE_H
#define HD_PRESSURE_H

#include "cause/probe_context.h"

void hd_pressure_init(struct hd_probe_context *ctx);

/* The time, since the group exists, in which some task of the group waited; of the whole machine where the
 * group has no such file. */
void hd_pressure_read(const struct hd_probe_context *ctx, uint64_t stall_ns[HD_PRESSURES]);

/* The memory of the group, and its limit; both 0: no limit. */
void hd_pressure_memory(const struct hd_probe_context *ctx, uint64_t *used, uint64_t *limit);

#endif
