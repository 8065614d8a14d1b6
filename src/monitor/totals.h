/* SPDX-License-Identifier: MIT
 *
 * The sums of all watches. They are stored in the record, which outlives the process. On the monitor thread:
 * no allocation.
 */
#ifndef HD_TOTALS_H
#define HD_TOTALS_H

#include "monitor/state.h"

/* Adds the turns, times, display frames and costs that this watch has counted so far to `sum`. */
void hd_totals_add(struct hd_monitor *m, struct hd_totals *sum, struct hd_look_state *s);

/* Stores in the record the sums of all watches, including those that have ended. */
void hd_totals_publish(struct hd_monitor *m);

/* Call it after each look. Calls hd_totals_publish once a second. If `all_idle` is true, calls
 * hd_totals_publish after this look too, since the monitor may sleep for long after it. */
void hd_totals_publish_when_due(struct hd_monitor *m, bool all_idle);

/* Compares the cost of watching so far with the budget, once a second. */
void hd_totals_check_budget(struct hd_monitor *m);

#endif
