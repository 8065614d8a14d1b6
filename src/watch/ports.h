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
    /* set by the preload; all members are NULL if the program marks its loops itself */
    struct hd_recogniser recogniser;
    /* The worker calls this function, which is hd_fatal_marker_update. It is NULL under a runner, because the
     * runner needs no fatal marker: it learns from the record that the process died in a hang. */
    void (*fatal_marker)(struct hd_publisher *p, struct hd_turn *turn, bool over);
    /* The worker calls this function, which is hd_live_answer. It is NULL in the preload, because there no
     * thread of the program requests a live report. */
    void (*live)(struct hd_worker *worker);
    /* The monitor calls this function if it or the worker cannot give up a right that the main thread has
     * given up. Just after this call both of them end. `filtered`: true if a seccomp filter of the main
     * thread is the reason. */
    void (*exceeds)(bool filtered);
};

#endif
