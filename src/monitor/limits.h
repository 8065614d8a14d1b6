/* SPDX-License-Identifier: MIT
 *
 * The limits of a loop's turns: thresholds and distances, from the settings, the watch and the program's
 * state. Monitor.
 */
#ifndef HD_MONITOR_LIMITS_H
#define HD_MONITOR_LIMITS_H

#include "monitor/state.h"

/* The program's state, as far as it applies to this loop: a loop that was never idle launches. */
hangdog_state hd_limits_state(const struct hd_monitor *m, const struct hd_look_state *s);

/* The limits of the loop's turns in this state. */
struct hd_limits hd_limits_of(const struct hd_monitor *m, const struct hd_look_state *s, hangdog_state state);

/* Lowers m->look_ns to what this watch needs: a look falls into each turn before it is a hang, however far
 * apart samples are. */
void hd_limits_look_often(struct hd_monitor *m, const struct hd_watch *w);

/* Applies limits that the program has changed meanwhile. */
void hd_limits_update(struct hd_monitor *m);

#endif
