/* SPDX-License-Identifier: MIT
 *
 * The limits of a loop's turns: thresholds and times between looks and samples. They come from the settings,
 * the watch and the program's state. On the monitor thread.
 */
#ifndef HD_MONITOR_LIMITS_H
#define HD_MONITOR_LIMITS_H

#include "monitor/state.h"

/* Returns the program's state as it counts for this loop: a loop that was never idle is in its launch. */
hangdog_state hd_limits_state(const struct hd_monitor *m, const struct hd_look_state *s);

/* Returns the limits of the loop's turns in this state. */
struct hd_limits hd_limits_of(const struct hd_monitor *m, const struct hd_look_state *s, hangdog_state state);

/* Lowers m->look_ns to what this watch needs: at least one look in each turn before the turn is a hang.
 * Samples may be further apart. */
void hd_limits_look_often(struct hd_monitor *m, const struct hd_watch *w);

/* If the program has changed a limit, sets m->look_ns anew for all watches. */
void hd_limits_update(struct hd_monitor *m);

/* Returns the upper bound of thresholds in this state. It lies below the time after which the system ends a
 * program that hangs. UINT64_MAX: the system ends none. */
uint64_t hd_limits_system_ns(hangdog_state state);

#endif
