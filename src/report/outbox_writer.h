/* SPDX-License-Identifier: MIT
 *
 * Writes a report into the memory that the process shares with the runner.
 */
#ifndef HD_OUTBOX_WRITER_H
#define HD_OUTBOX_WRITER_H

#include "record/outbox.h"
#include "report/report.h"

/* Worker; waits up to a second for the runner. -ETIMEDOUT: the runner takes no report. -EMSGSIZE: the report
 * is too large. */
int hd_outbox_write(struct hd_outbox *o, const struct hd_report *r, struct hd_report_scratch *scratch);

#endif
