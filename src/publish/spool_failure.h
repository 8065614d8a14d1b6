/* SPDX-License-Identifier: MIT
 *
 * Stores in the record that a report could not be written to the spool. If no runner prints the failure,
 * writes it to the system's journal. On the worker thread.
 */
#ifndef HD_SPOOL_FAILURE_H
#define HD_SPOOL_FAILURE_H

#include "watch/run.h"

/* Stores the run's first failure in the record. `rc`: a negative errno value. Under `hangdog run --exec` no
 * runner waits for the program, so no summary names the failure. If the program's stderr goes to the system's
 * journal, the first failure also writes a line to the journal. */
void hd_spool_failure_store(const struct hd_run *run, int rc);

#endif
