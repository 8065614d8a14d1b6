/* SPDX-License-Identifier: MIT
 *
 * Does the actions that src/detect returns after a look. On the monitor thread: no allocation. The monitor
 * waits here for no other thread, except up to 55 ms for a sample.
 */
#ifndef HD_MONITOR_ACTIONS_H
#define HD_MONITOR_ACTIONS_H

#include "monitor/state.h"

/* Does all `actions` (HD_ACT_*) except HD_ACT_TRACK, in their order. Each action sends the worker a
 * message: the turn's start, a sample, HD_MSG_OPEN, or the turn's end. */
void hd_actions_do(struct hd_monitor *m, struct hd_look_state *s, const struct hd_look *look,
                   unsigned actions);

/* Does HD_ACT_TRACK: sets HD_FLAG_TRACKED, so that the loop stores when this turn ends. Returns false if the
 * turn has ended meanwhile. */
bool hd_actions_track(struct hd_look_state *s, uint64_t start_ticks);

#endif
