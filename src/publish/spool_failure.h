/* SPDX-License-Identifier: MIT
 *
 * Handles a report that the spool did not take. On the worker thread.
 */
#ifndef HD_SPOOL_FAILURE_H
#define HD_SPOOL_FAILURE_H

#include "watch/run.h"

/* Stores the run's first failure in the record; `rc` is a negative errno value. Under --exec no runner prints
 * a summary: if the program's errors go to the journal, the first failure writes a line there. */
void hd_spool_failure_store(const struct hd_run *run, int rc);

#endif
