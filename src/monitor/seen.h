/* SPDX-License-Identifier: MIT
 *
 * What a look sees of a loop: its mark, the end of the turn that it was to store, and what the recogniser has
 * found out since the last look. Monitor.
 */
#ifndef HD_SEEN_H
#define HD_SEEN_H

#include "monitor/state.h"

/* Fills *look, but for `excluded_ns` and `moved`. Sets s->launched where the launch is over, and stores how
 * long it took in the record. */
void hd_seen_fill(struct hd_monitor *m, struct hd_look_state *s, uint64_t now_ns, struct hd_look *look);

#endif
