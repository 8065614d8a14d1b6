/* SPDX-License-Identifier: MIT
 *
 * How much memory a control group leaves, and whom it ended for want of it. Ordinary code.
 */
#ifndef CLI_MEMORY_LIMIT_H
#define CLI_MEMORY_LIMIT_H

#include <stdint.h>

/* Keeps what the calling process may map from now on to a gibibyte, and to half of what its control groups
 * leave to all in them: in one that ends whole where memory is short (memory.oom.group, as Kubernetes sets
 * it) a process of ours that takes too much would end the program. */
void memory_keep_to_room(void);

/* How many processes of the own control group the kernel has killed for want of memory; of the machine, where
 * the group does not tell. */
uint64_t memory_oom_kills(void);

#endif
