/* SPDX-License-Identifier: MIT
 *
 * The worker's memory, in parts. A function of a job gets all of it. A function of a part gets only what it
 * needs, and knows other parts by pointers. On the worker thread.
 */
#ifndef HD_WORKER_STATE_H
#define HD_WORKER_STATE_H

#include "publish/publisher.h"
#include "worker/cpu_profile.h"
#include "worker/host.h"
#include "worker/stacks.h"
#include "worker/threads.h"

struct hd_worker {
    struct hd_run *run; /* set before the thread starts; all else is zero then */
    hd_thread_id own_thread;
    struct hd_probe_context probe;
    struct hd_program_facts program;
    struct hd_stacks stacks;
    struct hd_turns turns;
    struct hd_cpu_profile profile;
    struct hd_threads threads; /* as captured for the newest hang */
    struct hd_process process; /* as read at the same time */
    struct hd_publisher publisher;
    uint8_t marker_page[HD_TURNS_MAX][HD_FATAL_MARKER_BYTES] __attribute__((aligned(HD_FATAL_MARKER_BYTES)));
};

/* True: no tree has frames that refer to tables of modules and scripts. The tables may then be made anew. */
static inline bool hd_worker_has_no_tree(const struct hd_worker *worker) {
    return !worker->profile.on && hd_turns_is_empty(&worker->turns);
}

#endif
