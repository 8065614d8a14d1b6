/* SPDX-License-Identifier: MIT
 *
 * The monitor's thread, which keeps the time. It looks at all loops, takes samples, and sends messages to
 * the worker.
 */
#ifndef HD_MONITOR_H
#define HD_MONITOR_H

#include "monitor/state.h"

/* The function of the monitor thread. `monitor`: a struct hd_monitor that is zero except for run, look_ns and
 * ring.in_place_until. */
void *hd_monitor_run(void *monitor);

#endif
