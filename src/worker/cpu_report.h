/* SPDX-License-Identifier: MIT
 *
 * A job of the worker: the busiest thread of a process that uses too much of a CPU, and the `cpu` report.
 * Worker.
 */
#ifndef HD_WORKER_CPU_REPORT_H
#define HD_WORKER_CPU_REPORT_H

#include "worker/state.h"

/* A message HD_MSG_CPU_*. The monitor reads the thread to sample in channel.cpu_thread. */
void hd_cpu_report_handle(struct hd_worker *worker, const struct hd_message *msg, const struct hd_capture *c);

#endif
