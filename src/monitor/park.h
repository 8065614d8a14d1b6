/* SPDX-License-Identifier: MIT
 *
 * How the monitor waits for its next look. While all loops are idle it parks: it sleeps without a plan, and
 * the first loop that runs wakes it. Monitor.
 */
#ifndef HD_PARK_H
#define HD_PARK_H

#include "monitor/state.h"

/* Waits until `next_ns` (HD_NEVER: all loops are idle), or until something else is due. Returns at once when
 * a thread has added to channel.wake, which was `seen` before the look. */
void hd_park_wait(struct hd_monitor *m, uint32_t seen, uint64_t next_ns);

#endif
