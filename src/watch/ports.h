/* SPDX-License-Identifier: MIT
 *
 * The functions that a run is given. Code above the watch sets them before the start, by value, and no thread
 * changes them afterwards. A function that is NULL is not needed in this process, and its caller does
 * nothing.
 */
#ifndef HD_PORTS_H
#define HD_PORTS_H

#include "watch/recogniser.h"

struct hd_publisher; /* publish/publisher.h */
struct hd_worker;    /* worker/worker.h */
struct hd_turn;

struct hd_ports {
    struct hd_recogniser recogniser; /* the preload's; all NULL where the program marks its loops */
    /* The worker calls hd_fatal_marker_update by it. NULL under a runner, which has the record when the
     * process dies. */
    void (*fatal_marker)(struct hd_publisher *p, struct hd_turn *turn, bool over);
    /* The worker calls hd_live_answer by it. NULL in the preload: no thread of the program requests a live
     * report there. */
    void (*live)(struct hd_worker *worker);
    /* The monitor calls it as both our threads are about to end: the main thread has given up a right that
     * they cannot give up. `filtered`: the main thread has a seccomp filter. */
    void (*exceeds)(bool filtered);
};

#endif
