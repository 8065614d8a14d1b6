/* SPDX-License-Identifier: MIT
 *
 * While no loop hangs, sends the messages that the service manager's watchdog expects. So the service manager
 * ends a program that hangs, and no other program. On the monitor thread: no allocation, no call that blocks.
 */
#ifndef HD_KEEP_ALIVE_H
#define HD_KEEP_ALIVE_H

#include "monitor/state.h"

/* Opens the socket. The monitor calls this as it starts, because the program may change its root folder
 * later. */
void hd_keep_alive_open(struct hd_monitor *m);

/* Call it after a look. Sends the service manager a keep-alive message if one is due and no loop hangs. */
void hd_keep_alive_step(struct hd_monitor *m);

/* Returns when the next keep-alive message is due. HD_NEVER: a loop hangs, or the service manager expects no
 * messages. */
uint64_t hd_keep_alive_next(const struct hd_monitor *m);

#endif
