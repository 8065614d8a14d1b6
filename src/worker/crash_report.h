/* SPDX-License-Identifier: MIT
 *
 * Writes the report of a crash. On the worker thread.
 */
#ifndef HD_WORKER_CRASH_REPORT_H
#define HD_WORKER_CRASH_REPORT_H

#include "worker/state.h"

/* If a crashed thread is blocked in our signal handler, writes the report of the crash. After that, lets the
 * crashed thread end the process by the signal of the crash. */
void hd_crash_report(struct hd_worker *worker);

#endif
