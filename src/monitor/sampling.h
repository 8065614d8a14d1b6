/* SPDX-License-Identifier: MIT
 *
 * Samples: taken, and put into the ring. Monitor: no allocation. A sample may take 55 ms (hd_capture_take).
 */
#ifndef HD_SAMPLING_H
#define HD_SAMPLING_H

#include "monitor/state.h"

/* Takes one sample and sends it as this type of message. It is lost while the worker is behind. */
void hd_sampling_take(struct hd_monitor *m, struct hd_look_state *s, enum hd_message_type type);

/* Sends the stack of a thread that gave no answer in time, once it has answered. */
void hd_sampling_send_late(struct hd_monitor *m, struct hd_look_state *s);

#endif
