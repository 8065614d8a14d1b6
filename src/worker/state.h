/* SPDX-License-Identifier: MIT
 *
 * The worker's memory, which has several parts. The worker's jobs, such as hang.c and sample.c, get the
 * whole struct. A part, such as stacks.c or threads.c, gets only its own member, with pointers to the parts
 * that it uses. On the worker thread.
 */
#ifndef HD_WORKER_STATE_H
#define HD_WORKER_STATE_H

#include "publish/publisher.h"
#include "worker/cpu_profile.h"
#include "worker/host.h"
#include "worker/stacks.h"
#include "worker/threads.h"

struct hd_worker {
    struct hd_run *run; /* set before the thread starts, when all other members are zero */
    hd_thread_id own_thread;
    struct hd_probe_context probe;
    struct hd_program_facts program;
    struct hd_stacks stacks;
    struct hd_turns turns;
    struct hd_cpu_profile profile;
    /* all threads of the process, as the worker captured them for the newest report */
    struct hd_threads threads;
    struct hd_process process; /* the state of the process when the threads were captured */
    struct hd_publisher publisher;
    uint8_t marker_page[HD_TURNS_MAX][HD_FATAL_MARKER_BYTES] __attribute__((aligned(HD_FATAL_MARKER_BYTES)));
};

/* True: no call tree exists. Frames of a call tree refer to the data of modules and scripts, so only
 * without a tree may that data be dropped. */
static inline bool hd_worker_has_no_tree(const struct hd_worker *worker) {
    return !worker->profile.on && hd_turns_is_empty(&worker->turns);
}

#endif
