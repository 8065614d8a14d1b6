/* SPDX-License-Identifier: MIT
 *
 * The worker's state: its parts, each with a header of its own, and the buffers that they share. The worker
 * may wait for a disk; no thread waits for it. No allocation.
 */
#ifndef HD_WORKER_H
#define HD_WORKER_H

#include "cause/cause.h"
#include "image/functions.h"
#include "publish/publisher.h"
#include "report/call_tree.h"
#include "script/script.h"
#include "turn/turn.h"
#include "unwind/unwind.h"
#include "watch/run.h"
#include "worker/cpu_profile.h"
#include "worker/host.h"
#include "worker/other_threads.h"

struct hd_worker {
    struct hd_run *run;
    struct hd_probe_context probe;
    hd_thread_id own_thread;
    struct hd_publisher publisher;
    struct hd_app app;
    struct hd_host host;
    char os_version[64], kernel[64], executable[64];
    struct hd_process process; /* when the newest hang opened */
    struct hd_turns turns;
    struct hd_cpu_profile profile;
    struct hd_other_threads others; /* of the newest hang */
    /* shared buffers */
    struct hd_frame frames[HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX];
    struct hd_modules modules;
    uint64_t modules_seen_ns; /* when they were last looked after */
    struct hd_scripts scripts;
    struct hd_unwinder *unwinder;
    uint8_t marker_page[HD_TURNS_MAX][HD_FATAL_MARKER_BYTES] __attribute__((aligned(HD_FATAL_MARKER_BYTES)));
};

/* Where a walk ended: the rest of a stack is not unreadable where it is longer than what is copied of it. */
static inline uint8_t hd_stop_of(const struct hd_walk *walk, const struct hd_capture *c) {
    return walk->stop == HD_STOP_UNREADABLE && c->truncated ? HD_STOP_LIMIT : walk->stop;
}

/* The thread. `worker`: a struct hd_worker, zeroed but for run. */
void *hd_worker_run(void *worker);
size_t hd_worker_bytes(void);

#endif
