/* SPDX-License-Identifier: MIT
 *
 * Does what src/detect answers after a look. Monitor: no allocation, never waits for another thread.
 */
#ifndef HD_MONITOR_ACTIONS_H
#define HD_MONITOR_ACTIONS_H

#include "monitor/state.h"

/* All of HD_ACT_* but HD_ACT_TRACK, in their order: the worker learns of the turn, gets a sample, the
 * opening, and the end. */
void hd_actions_do(struct hd_monitor *m, struct hd_look_state *s, const struct hd_look *look,
                   unsigned actions);

/* Requests of the loop that it stores when this turn ends (HD_ACT_TRACK). False: the turn has ended
 * meanwhile. */
bool hd_actions_track(struct hd_look_state *s, uint64_t start_ticks);

#endif
