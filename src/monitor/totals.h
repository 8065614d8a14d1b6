/* SPDX-License-Identifier: MIT
 *
 * The sums of all watches, in the record, where they outlive the process. Monitor: no allocation.
 */
#ifndef HD_TOTALS_H
#define HD_TOTALS_H

#include "monitor/state.h"

/* Adds what a watch has counted so far to `sum`. */
void hd_totals_add(struct hd_monitor *m, struct hd_totals *sum, struct hd_look_state *s);

/* Stores the sums of all watches, also of those that are over, in the record. */
void hd_totals_publish(struct hd_monitor *m);

/* The same after a look, once a second. `all_idle`: at each look, since the monitor may then sleep for long.
 */
void hd_totals_publish_when_due(struct hd_monitor *m, bool all_idle);

/* Compares the cost of watching so far with the budget, once a second. */
void hd_totals_check_budget(struct hd_monitor *m);

#endif
