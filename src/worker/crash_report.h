/* SPDX-License-Identifier: MIT
 *
 * A job of the worker: the report of a crash. On the worker thread.
 */
#ifndef HD_WORKER_CRASH_REPORT_H
#define HD_WORKER_CRASH_REPORT_H

#include "worker/state.h"

/* Writes the report of a crash, if a thread waits for one in its handler, and lets that thread crash. */
void hd_crash_report(struct hd_worker *worker);

#endif
