/* SPDX-License-Identifier: MIT
 *
 * Reads the kernel's pressure statistics (PSI): how long tasks waited for memory, a CPU or a disk. Reads also
 * the memory of the process's control group and its limit. A kernel may have neither. Runs on the worker
 * thread; allocates nothing.
 */
#ifndef HD_PRESSURE_H
#define HD_PRESSURE_H

#include "cause/probe_context.h"

void hd_pressure_init(struct hd_probe_context *ctx);

/* Reads, for each resource, the time in which some task of the control group waited for it since the group
 * was created. If the group has no pressure file, reads the time of the whole machine. */
void hd_pressure_read(const struct hd_probe_context *ctx, uint64_t stall_ns[HD_PRESSURES]);

/* Reads the memory that the control group uses, and its limit, in bytes. Both are 0 if the group has no
 * limit. */
void hd_pressure_memory(const struct hd_probe_context *ctx, uint64_t *used, uint64_t *limit);

#endif
