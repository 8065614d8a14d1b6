/* SPDX-License-Identifier: MIT
 *
 * Sends messages from the monitor to the worker. On the monitor thread: no allocation, no call that blocks.
 */
#ifndef HD_MONITOR_SEND_H
#define HD_MONITOR_SEND_H

#include "monitor/state.h"

/* Copies the message, sets the copy's `cost`, and sends the copy. Returns false if the ring has no free
 * space: the caller must send the message again later. The end of a turn whose start was sent always has
 * space. */
bool hd_monitor_send(struct hd_monitor *m, const struct hd_message *message);

/* Wakes the worker, so that it reads the ring. */
void hd_monitor_send_wake(struct hd_monitor *m);

/* Sets message->cost to what watching has cost so far. Each message carries this cost, because the worker
 * reads no memory of the monitor. */
void hd_monitor_send_figures(struct hd_monitor *m, struct hd_message *message);

#endif
