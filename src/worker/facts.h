/* SPDX-License-Identifier: MIT
 *
 * Reads the facts of a report (struct hd_facts) just before the worker writes the report. On the worker
 * thread.
 */
#ifndef HD_WORKER_FACTS_H
#define HD_WORKER_FACTS_H

#include "publish/publisher.h"
#include "worker/host.h"
#include "worker/threads.h"

/* Fills *facts from the worker's newest capture of all threads, and from the state of the process. Sets all
 * other facts to zero. */
void hd_facts_take(const struct hd_threads *threads, const struct hd_process *process,
                   struct hd_facts *facts);

/* Reads into *facts the page faults of the turn's thread, and the worker's CPU time. Also reads the throttled
 * time, the stall times and the memory use of the control group. */
void hd_facts_read_counters(const struct hd_probe_context *probe, const struct hd_turn *turn,
                            struct hd_facts *facts);

#endif
