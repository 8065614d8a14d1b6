/* SPDX-License-Identifier: MIT
 *
 * How much memory a control group leaves, and whom it ended for want of it. Ordinary code.
 */
#ifndef CLI_MEMORY_LIMIT_H
#define CLI_MEMORY_LIMIT_H

#include <stdint.h>

/* Limits the memory that the calling process may map from now on: to 1 GiB, and to half of what the process's
 * cgroups have free. The kernel can kill a whole cgroup that lacks memory (memory.oom.group, set by
 * Kubernetes). A process of ours that takes too much would then end the program. */
void memory_keep_to_room(void);

/* The number of processes of the own cgroup that the kernel has killed for lack of memory. The number for the
 * machine, if the cgroup has none. */
uint64_t memory_oom_kills(void);

#endif
