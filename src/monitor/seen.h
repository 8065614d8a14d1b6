/* SPDX-License-Identifier: MIT
 *
 * Reads the state of a loop for a look: its mark, the end of a tracked turn, and the recogniser's findings
 * since the last look. On the monitor thread.
 */
#ifndef HD_SEEN_H
#define HD_SEEN_H

#include "monitor/state.h"

/* Fills *look, except for `excluded_ns` and `moved`. If the launch is over, sets s->launched, and stores in
 * the record how long the launch took. */
void hd_seen_fill(struct hd_monitor *m, struct hd_look_state *s, uint64_t now_ns, struct hd_look *look);

#endif
