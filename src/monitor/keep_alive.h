/* SPDX-License-Identifier: MIT
 *
 * Answers the service manager's watchdog while the loops turn, so that the manager ends a program that hangs,
 * and no other. Monitor: no allocation, never waits.
 */
#ifndef HD_KEEP_ALIVE_H
#define HD_KEEP_ALIVE_H

#include "monitor/monitor.h"

/* As the thread starts, before the program may change its root. */
void hd_keep_alive_open(struct hd_monitor *m);

/* After a look: a message is sent where one is due and no loop hangs. */
void hd_keep_alive_step(struct hd_monitor *m);

/* When the next is due; UINT64_MAX: never, or once the hang that goes on has ended. */
uint64_t hd_keep_alive_next(const struct hd_monitor *m);

#endif
