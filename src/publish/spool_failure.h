/* SPDX-License-Identifier: MIT
 *
 * The spool did not take a report. Worker.
 */
#ifndef HD_SPOOL_FAILURE_H
#define HD_SPOOL_FAILURE_H

#include "watch/run.h"

/* Stores the run's first failure in the record, `rc` a negative errno value. Under --exec no runner prints a
 * summary: the first failure then writes a line to the journal, if the program's errors go there. */
void hd_spool_failure_store(const struct hd_run *run, int rc);

#endif
