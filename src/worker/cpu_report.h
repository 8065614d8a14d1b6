/* SPDX-License-Identifier: MIT
 *
 * Profiles the busiest thread of a process that uses too much of a CPU, and writes a report of kind `cpu`. On
 * the worker thread.
 */
#ifndef HD_WORKER_CPU_REPORT_H
#define HD_WORKER_CPU_REPORT_H

#include "worker/state.h"

/* Handles a message HD_MSG_CPU_*. Stores in channel.cpu_thread which thread the monitor must sample. */
void hd_cpu_report_handle(struct hd_worker *worker, const struct hd_message *msg, const struct hd_capture *c);

#endif
