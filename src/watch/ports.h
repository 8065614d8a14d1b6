/* SPDX-License-Identifier: MIT
 *
 * * The functions that a run is given. Rooms above src/watch set them before the start, and they stay as they
 * are until the end. Where a function is NULL, its caller does nothing.
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
    /* The monitor calls it as both our threads are about to end: the main thread has given up a right, and
     * they cannot. `filtered`: the main thread has a seccomp filter. */
    void (*exceeds)(bool filtered);
};

#endif
