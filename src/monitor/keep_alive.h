/* SPDX-License-Identifier: MIT
 *
 * Answers the service manager's watchdog while no loop hangs, so that the manager ends a program that hangs,
 * and no other. Monitor: no allocation, never waits.
 */
#ifndef HD_KEEP_ALIVE_H
#define HD_KEEP_ALIVE_H

#include "monitor/state.h"

/* As the thread starts, before the program may change its root. */
void hd_keep_alive_open(struct hd_monitor *m);

/* Sends a message after a look, where one is due and no loop hangs. */
void hd_keep_alive_step(struct hd_monitor *m);

/* When the next message is due; HD_NEVER: not before the open hang has ended, or none is sent at all. */
uint64_t hd_keep_alive_next(const struct hd_monitor *m);

#endif
