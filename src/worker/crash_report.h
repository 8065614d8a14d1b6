/* SPDX-License-Identifier: MIT
 *
 * The report of a crash. Worker: no allocation.
 */
#ifndef HD_WORKER_CRASH_REPORT_H
#define HD_WORKER_CRASH_REPORT_H

#include "worker/worker.h"

/* Writes the report of a crash that waits for one, and lets the crash happen. */
void hd_crash_report(struct hd_worker *k);

#endif
