/* SPDX-License-Identifier: MIT
 *
 * Reads a loop for a look: its mark, the end of a tracked turn, and the recogniser's findings since the last
 * look. Monitor.
 */
#ifndef HD_SEEN_H
#define HD_SEEN_H

#include "monitor/state.h"

/* Fills *look, but for `excluded_ns` and `moved`. Sets s->launched where the launch is over, and stores how
 * long it took in the record. */
void hd_seen_fill(struct hd_monitor *m, struct hd_look_state *s, uint64_t now_ns, struct hd_look *look);

#endif
