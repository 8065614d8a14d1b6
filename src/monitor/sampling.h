/* SPDX-License-Identifier: MIT
 *
 * What the monitor does about a loop, and what it tells the worker. Monitor: no allocation.
 */
#ifndef HD_SAMPLING_H
#define HD_SAMPLING_H

#include "monitor/monitor.h"

/* A message for the worker. False: there was no room. Never for what ends a turn whose TRACK was taken. */
bool hd_monitor_send(struct hd_monitor *m, const struct hd_message *message);

/* One sample, of this type of message; lost when the worker is behind. */
void hd_sampling_take(struct hd_monitor *m, struct hd_watch *w, enum hd_message_type type);

/* HD_ACT_*, in their order. */
void hd_sampling_act(struct hd_monitor *m, struct hd_watch *w, const struct hd_look *look, unsigned actions);

#endif
