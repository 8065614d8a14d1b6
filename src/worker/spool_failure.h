/* SPDX-License-Identifier: MIT
 *
 * What becomes of a report that the spool did not take.
 */
#ifndef HD_SPOOL_FAILURE_H
#define HD_SPOOL_FAILURE_H

#include "worker/worker.h"

/* Stores the errno value (rc is its negative) in the record. The first failure of a run under --exec has
 * a line in the journal, where its errors go there: no runner prints a summary. Worker. */
void hd_spool_failure_note(struct hd_worker *k, int rc);

#endif
