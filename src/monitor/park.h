/* SPDX-License-Identifier: MIT
 *
 * Lets the monitor sleep until its next look. While all loops are idle, the monitor parks: it sleeps without
 * a time limit, and the first loop that runs wakes it. On the monitor thread.
 */
#ifndef HD_PARK_H
#define HD_PARK_H

#include "monitor/state.h"

/* Sleeps until `next_ns`, or until a check of credentials, the CPU watch or a keep-alive message is due.
 * `next_ns` is HD_NEVER if all loops are idle. `seen`: the value of channel.wake before the look. If a thread
 * has added to channel.wake since then, the function returns at once. */
void hd_park_wait(struct hd_monitor *m, uint32_t seen, uint64_t next_ns);

#endif
