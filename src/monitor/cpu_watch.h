/* SPDX-License-Identifier: MIT
 *
 * The monitor's part in watching the CPU use of the process: once a period it reads the process's CPU time,
 * and it takes samples. The worker does the rest. On the monitor thread.
 */
#ifndef HD_CPU_WATCH_H
#define HD_CPU_WATCH_H

#include "monitor/state.h"

/* Does the next step, if it is due. Call it after a look. */
void hd_cpu_watch_step(struct hd_monitor *m);

/* When the next step is due. HD_NEVER: CPU use is not watched. */
uint64_t hd_cpu_watch_next(const struct hd_monitor *m);

#endif
