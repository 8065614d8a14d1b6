/* SPDX-License-Identifier: MIT
 *
 * Watched thread: wait-free. The frames that a loop presents: how many, how long each took, and how many
 * refreshes of the display had no new one. A frame's time is the time since the frame before, without the
 * loop's own waits: a program that draws only when something happens drops nothing while it is idle.
 */
#ifndef HD_FRAMES_H
#define HD_FRAMES_H

#include <stdatomic.h>

#include "base/types.h"

/* Of one loop. The owner writes all but the period. */
struct hd_frames {
    _Atomic uint64_t presented;
    _Atomic uint64_t dropped;  /* refreshes of the display without a new frame */
    _Atomic uint64_t time_ns;  /* of all frames but the first, which has no frame before it */
    _Atomic uint64_t hitch_ns; /* by how much the late ones were late */
    _Atomic uint64_t histogram[HD_FRAME_BUCKETS];
    uint64_t begun_ticks; /* the loop's busy time when the frame that is made now began */
    uint64_t period_ns;   /* of the display's refresh */
};

struct hd_loop;

/* A frame was presented. `waited`: ticks of a wait of the loop's that belong to the frame, the wait for the
 * display. Owner only; async-signal-safe. */
void hd_frames_add(struct hd_loop *l, uint64_t waited);

#endif
