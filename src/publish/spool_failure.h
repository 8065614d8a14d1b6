/* SPDX-License-Identifier: MIT
 *
 * Stores in the record that a report could not be written to the spool, and prints that if no runner does. On
 * the worker thread.
 */
#ifndef HD_SPOOL_FAILURE_H
#define HD_SPOOL_FAILURE_H

#include "watch/run.h"

/* Stores the run's first failure in the record. `rc`: a negative errno value. Under --exec no runner prints
 * a summary. So if the program's stderr goes to the journal, the first failure also writes a line to the
 * journal. */
void hd_spool_failure_store(const struct hd_run *run, int rc);

#endif
