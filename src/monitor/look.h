/* SPDX-License-Identifier: MIT
 *
 * One look at one loop: sees what has become of the turn, and acts on it. Monitor: no allocation.
 */
#ifndef HD_LOOK_H
#define HD_LOOK_H

#include "monitor/state.h"

/* Looks at one loop, as a part of the look in m->now. True: the loop is in a turn, and the next look is due
 * at s->next_ns. False: it is idle, and the monitor may park. */
bool hd_look_at(struct hd_monitor *m, struct hd_look_state *s);

/* The last look at a loop that is no longer watched: a turn that is tracked ends here. */
void hd_look_last(struct hd_monitor *m, struct hd_look_state *s);

#endif
