/* SPDX-License-Identifier: MIT
 *
 * Messages from the monitor to the worker. Monitor: no allocation, never waits.
 */
#ifndef HD_MONITOR_SEND_H
#define HD_MONITOR_SEND_H

#include "monitor/state.h"

/* Sends a message, with the figures that each message has. False: the ring has no free space, and the caller
 * sends it again later. Never false for the end of a turn whose start was sent. */
bool hd_monitor_send(struct hd_monitor *m, const struct hd_message *message);

/* Wakes the worker, which reads the ring. */
void hd_monitor_send_wake(struct hd_monitor *m);

/* The figures that each message has: what watching cost so far. The worker reads no memory of the monitor. */
void hd_monitor_send_figures(struct hd_monitor *m, struct hd_message *message);

#endif
