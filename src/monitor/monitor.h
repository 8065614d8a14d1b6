/* SPDX-License-Identifier: MIT
 *
 * The thread that keeps the time: it looks at all loops, takes samples and sends messages to the worker.
 */
#ifndef HD_MONITOR_H
#define HD_MONITOR_H

#include "monitor/state.h"

/* The thread. `monitor`: a struct hd_monitor, zeroed but for run, look_ns and ring.in_place_until. */
void *hd_monitor_run(void *monitor);

#endif
