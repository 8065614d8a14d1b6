/* SPDX-License-Identifier: MIT
 *
 * The CPU monitor's part in the thread that keeps time. One clock is read a period; the worker does the rest.
 */
#ifndef HD_CPU_WATCH_H
#define HD_CPU_WATCH_H

#include "monitor/monitor.h"

/* After a look: what is due. */
void hd_cpu_watch_step(struct hd_monitor *m);

/* When it is due next; UINT64_MAX: never, for it is off. */
uint64_t hd_cpu_watch_next(const struct hd_monitor *m);

#endif
