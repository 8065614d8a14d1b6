/* SPDX-License-Identifier: MIT
 *
 * Watches the CPU use of the process: the monitor reads the CPU time of the process at the end of each
 * measuring period. If a period's CPU time exceeds the limit, the monitor samples one thread in the next
 * period. The worker chooses that thread, and writes the report. On the monitor thread.
 */
#ifndef HD_CPU_WATCH_H
#define HD_CPU_WATCH_H

#include "monitor/state.h"

/* Starts a period of CPU measurement, takes a sample, or ends the period, if that is due. Call it after a
 * look. */
void hd_cpu_watch_step(struct hd_monitor *m);

/* Returns when hd_cpu_watch_step is due next. HD_NEVER: CPU use is not watched. */
uint64_t hd_cpu_watch_next(const struct hd_monitor *m);

#endif
