/* SPDX-License-Identifier: MIT
 *
 * The worker's memory: the parts that its jobs work on. A job is a file whose functions get all of it; a part
 * knows no other part but by a pointer.
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
    struct hd_threads threads; /* captured for the newest hang */
    struct hd_process process; /* at the same time */
    struct hd_publisher publisher;
    uint8_t marker_page[HD_TURNS_MAX][HD_FATAL_MARKER_BYTES] __attribute__((aligned(HD_FATAL_MARKER_BYTES)));
};

/* No tree has frames of modules or scripts: their tables may be made anew. */
static inline bool hd_worker_has_no_tree(const struct hd_worker *worker) {
    return !worker->profile.on && hd_turns_is_empty(&worker->turns);
}

#endif
