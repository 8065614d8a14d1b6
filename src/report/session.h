/* SPDX-License-Identifier: MIT
 *
 * The totals of the session report, from the record of a process. The worker calls it at a stop, the runner
 * after the process died.
 */
#ifndef HD_SESSION_H
#define HD_SESSION_H

#include "record/record.h"
#include "report/report.h"

/* Fills *s and *cost. `used_ns`: how long the process ran. */
void hd_session_fill(const struct hd_record *c, uint64_t used_ns, struct hd_session *s,
                     struct hd_monitor_cost *cost);

#endif
