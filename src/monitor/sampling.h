/* SPDX-License-Identifier: MIT
 *
 * Takes samples, and puts them into the ring. On the monitor thread: no allocation. A sample may take 55 ms
 * (hd_capture_take).
 */
#ifndef HD_SAMPLING_H
#define HD_SAMPLING_H

#include "monitor/state.h"

/* Takes one sample, and sends it as a message of this type. If the ring has no free space for the sample,
 * the function does not take it. */
void hd_sampling_take(struct hd_monitor *m, struct hd_look_state *s, enum hd_message_type type);

/* If the thread has answered the last sample's request too late, sends the stack of that answer. */
void hd_sampling_send_late(struct hd_monitor *m, struct hd_look_state *s);

#endif
