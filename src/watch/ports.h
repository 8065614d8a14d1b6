/* SPDX-License-Identifier: MIT
 *
 * Functions of other rooms that the monitor and the worker call. They are set before Hangdog starts, and do
 * not change until it stops. If a function is NULL, the monitor and the worker do without it.
 */
#ifndef HD_PORTS_H
#define HD_PORTS_H

#include "watch/recogniser.h"

struct hd_publisher; /* publish/publisher.h */
struct hd_worker;    /* worker/worker.h */
struct hd_turn;

struct hd_ports {
    struct hd_recogniser recogniser; /* set by the preload; all NULL if the program marks its loops itself */
    /* hd_fatal_marker_update, which the worker calls. NULL under a runner, because the runner reads the
     * record when the process dies. */
    void (*fatal_marker)(struct hd_publisher *p, struct hd_turn *turn, bool over);
    /* hd_live_answer, which the worker calls. NULL in the preload, because no thread of the program requests
     * a live report there. */
    void (*live)(struct hd_worker *worker);
    /* The monitor calls this function just before monitor and worker end. They end because one of them cannot
     * give up a right that the main thread has given up. `filtered`: the reason is a seccomp filter of the
     * main thread. */
    void (*exceeds)(bool filtered);
};

#endif
