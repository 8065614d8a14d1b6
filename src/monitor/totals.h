/* SPDX-License-Identifier: MIT
 *
 * Figures that must survive the process. Monitor: no allocation.
 */
#ifndef HD_TOTALS_H
#define HD_TOTALS_H

#include "monitor/monitor.h"

/* Adds what a watch has counted so far to `sum`. */
void hd_totals_add(struct hd_monitor *m, struct hd_totals *sum, struct hd_watch *w);

/* Puts the sums of all watches, past and present, into the record. */
void hd_totals_publish(struct hd_monitor *m);

/* Holds what was spent so far against the budget, about once a second. */
void hd_totals_check_budget(struct hd_monitor *m, uint64_t now_ns);

#endif
