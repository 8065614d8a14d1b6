/* SPDX-License-Identifier: MIT
 *
 * Counts frames by a CADisplayLink (hangdog_frames_follow). On the main thread.
 */
#ifndef HD_ADAPTER_DISPLAY_LINK_H
#define HD_ADAPTER_DISPLAY_LINK_H

#include "loop/loop.h"

/* One refresh of the display, as the link gives it. Times are seconds of the display's clock. */
struct hd_display_link_times {
    double timestamp;        /* when the last frame was shown */
    double target_timestamp; /* when the next frame will be shown */
    double duration;         /* the time between two refreshes, for a link without a target */
};

/* The last refresh. All zeros: no refresh yet. */
struct hd_display_link_state {
    double timestamp;
    uint64_t busy_ns; /* the loop's time in turns at that refresh */
};

/* Counts the frame that ends with this refresh. On the loop's thread, in a turn. */
void hd_display_link_refresh(struct hd_display_link_state *state, struct hd_loop *loop,
                             const struct hd_display_link_times *times);

#endif
