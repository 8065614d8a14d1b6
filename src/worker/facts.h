/* SPDX-License-Identifier: MIT
 *
 * Reads the facts of a report, just before it is written. On the worker thread.
 */
#ifndef HD_WORKER_FACTS_H
#define HD_WORKER_FACTS_H

#include "publish/publisher.h"
#include "worker/host.h"
#include "worker/threads.h"

/* Takes the threads and the process as they were captured last. Sets all other facts to zero. */
void hd_facts_take(const struct hd_threads *threads, const struct hd_process *process,
                   struct hd_facts *facts);

/* Reads the present counters of the turn's thread, the worker and the control group. */
void hd_facts_read_counters(const struct hd_probe_context *probe, const struct hd_turn *turn,
                            struct hd_facts *facts);

#endif
