/* SPDX-License-Identifier: MIT
 *
 * Keeps work of this process off the CPU quota that its control group shares with the watched program. Only
 * quotas below two CPUs count. One thread at a time.
 */
#ifndef CLI_BASE_CPU_QUOTA_H
#define CLI_BASE_CPU_QUOTA_H

#include <stdatomic.h>

/* Call it before the work. Moves this process into the group above all quotas, where the system allows that.
 * Else the calling thread sleeps again and again, so that it takes a quarter of the quota at most.
 * `no_more`: once one of the two is true, the thread sleeps no more. NULL: there is no such flag. */
void cpu_quota_leave(const atomic_bool *no_more, const atomic_bool *nor_then);
/* Call it after the work: this process is in its own group again, and the thread runs freely. */
void cpu_quota_return(void);

#endif
