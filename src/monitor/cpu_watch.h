/* SPDX-License-Identifier: MIT
 *
 * The CPU monitor's part in this thread: it reads one clock a period, and takes samples. The worker does the
 * rest. Monitor.
 */
#ifndef HD_CPU_WATCH_H
#define HD_CPU_WATCH_H

#include "monitor/state.h"

/* Does what is due after a look. */
void hd_cpu_watch_step(struct hd_monitor *m);

/* When the next step is due; HD_NEVER: the CPU monitor is off. */
uint64_t hd_cpu_watch_next(const struct hd_monitor *m);

#endif
