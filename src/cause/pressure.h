/* SPDX-License-Identifier: MIT
 *
 * Reads the kernel's pressure statistics (PSI): how long tasks waited for memory, a CPU or a disk. Reads also
 * how much memory the process's control group uses, the group's memory limit, and page faults. A kernel may
 * have neither these statistics nor control groups. Runs on the worker thread; allocates nothing.
 */
#ifndef HD_PRESSURE_H
#define HD_PRESSURE_H

#include "cause/probe_context.h"

void hd_pressure_init(struct hd_probe_context *ctx);

/* Reads for how long some task of the process's control group has waited for each resource since the group
 * was created. If the group has no pressure file, reads this time for the tasks of the whole machine. */
void hd_pressure_read(const struct hd_probe_context *ctx, uint64_t stall_ns[HD_PRESSURES]);

/* Reads how much memory the process's control group uses, and the group's memory limit, in bytes. Both are 0
 * if the group has no limit. */
void hd_pressure_memory(const struct hd_probe_context *ctx, uint64_t *used, uint64_t *limit);

/* Returns the number of major page faults of `thread`, for each of which the kernel reads a disk. 0: none, or
 * unknown. A system that counts them only for the whole process returns that number. */
uint64_t hd_pressure_major_faults(const struct hd_probe_context *ctx, hd_thread_id thread);

#endif
