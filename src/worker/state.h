/* SPDX-License-Identifier: MIT
 *
 * The worker's memory, which has several parts. The files with the worker's jobs, such as hang.c and
 * sample.c, get the whole struct. The file of a part, such as stacks.c or threads.c, gets only that part,
 * with pointers to the other parts that it uses. On the worker thread.
 */
#ifndef HD_WORKER_STATE_H
#define HD_WORKER_STATE_H

#include "publish/publisher.h"
#include "worker/cpu_profile.h"
#include "worker/host.h"
#include "worker/pool_state.h"
#include "worker/stacks.h"
#include "worker/threads.h"

struct hd_worker {
    /* set before the worker thread starts; all other members are zero until the thread starts */
    struct hd_run *run;
    hd_thread_id own_thread;
    struct hd_probe_context probe;
    struct hd_program_facts program;
    struct hd_stacks stacks;
    struct hd_turns turns;
    struct hd_cpu_profile profile;
    /* the process's threads, from the worker's newest capture of all threads */
    struct hd_threads threads;
    struct hd_process process; /* the state of the process when the threads were captured */
    struct hd_pools pools;
    struct hd_publisher publisher;
    uint8_t marker_page[HD_TURNS_MAX][HD_FATAL_MARKER_BYTES] __attribute__((aligned(HD_FATAL_MARKER_BYTES)));
};

/* True: no call tree exists. The worker may then drop the data of modules and scripts, because no frame of a
 * call tree refers to that data. */
static inline bool hd_worker_has_no_tree(const struct hd_worker *worker) {
    return !worker->profile.on && !worker->pools.turn.used && hd_turns_is_empty(&worker->turns);
}

#endif
