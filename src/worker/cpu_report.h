/* SPDX-License-Identifier: MIT
 *
 * A job of the worker: the busiest thread of a process that uses too much of a CPU, and the `cpu` report. On
 * the worker thread.
 */
#ifndef HD_WORKER_CPU_REPORT_H
#define HD_WORKER_CPU_REPORT_H

#include "worker/state.h"

/* Handles a message HD_MSG_CPU_*. Stores the thread that the monitor is to sample in channel.threads. */
void hd_cpu_report_handle(struct hd_worker *worker, const struct hd_message *msg, const struct hd_capture *c);

#endif
