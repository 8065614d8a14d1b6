/* SPDX-License-Identifier: MIT
 *
 * Decides which turns the worker follows: at most HD_FOLLOWED_MAX at a time. On the monitor thread: no
 * allocation.
 */
#ifndef HD_FOLLOWED_H
#define HD_FOLLOWED_H

#include "monitor/state.h"

/* Sends the worker the start of the running turn, as a copy of `message`. Sets s->followed to true, unless
 * the worker follows too many turns already, or the ring has no free space. */
void hd_followed_start(struct hd_monitor *m, struct hd_look_state *s, struct hd_message message);

/* Sends `last`, the final message about a followed turn. After this call, the worker can follow another
 * turn. */
void hd_followed_end(struct hd_monitor *m, struct hd_look_state *s, const struct hd_message *last);

#endif
