/* SPDX-License-Identifier: MIT
 *
 * Which turns the worker follows: at most HD_FOLLOWED_MAX at a time. Monitor: no allocation.
 */
#ifndef HD_FOLLOWED_H
#define HD_FOLLOWED_H

#include "monitor/state.h"

/* Sends the start of the running turn, by a copy of `message`. Sets s->followed: false where the worker has
 * no place for it, or the ring no free space. */
void hd_followed_start(struct hd_monitor *m, struct hd_look_state *s, struct hd_message message);

/* Sends `last` of a turn that is followed, and gives its place back. */
void hd_followed_end(struct hd_monitor *m, struct hd_look_state *s, const struct hd_message *last);

#endif
