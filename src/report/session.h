/* SPDX-License-Identifier: MIT
 *
 * The session report's figures, from the record of its process. Worker at a stop; the runner after a death.
 */
#ifndef HD_SESSION_H
#define HD_SESSION_H

#include "record/record.h"
#include "report/report.h"

/* `used_ns`: how long the process ran. */
void hd_session_fill(const struct hd_record *c, uint64_t used_ns, struct hd_session *s,
                     struct hd_monitor_cost *cost);

#endif
