/* SPDX-License-Identifier: MIT
 *
 * One look at one loop: finds out what has become of the turn, and acts on it. On the monitor thread: no
 * allocation.
 */
#ifndef HD_LOOK_H
#define HD_LOOK_H

#include "monitor/state.h"

/* Looks at one loop, as a part of the look at all loops (m->now). Returns true if the loop is in a turn: the
 * next look is due at s->next_ns. Returns false if the loop is idle, and so does not keep the monitor from
 * parking. */
bool hd_look_at(struct hd_monitor *m, struct hd_look_state *s);

/* Looks at a loop for the last time, because its watch ends. A tracked turn ends here. */
void hd_look_last(struct hd_monitor *m, struct hd_look_state *s);

#endif
