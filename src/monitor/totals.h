/* SPDX-License-Identifier: MIT
 *
 * Figures that must survive the process. Monitor: no allocation.
 */
#ifndef HD_FIGURES_H
#define HD_FIGURES_H

#include "monitor/monitor.h"

/* Adds what a watch has counted so far to `sum`. */
void hd_figures_add(struct hd_monitor *m, struct hd_figures *sum, struct hd_watch *w);

/* Puts the sums of all watches, past and present, into the record. */
void hd_figures_publish(struct hd_monitor *m);

/* Holds what was spent so far against the budget, about once a second. */
void hd_figures_weigh(struct hd_monitor *m, uint64_t now_ns);

#endif
