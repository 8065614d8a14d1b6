/* SPDX-License-Identifier: MIT
 *
 * The buckets of the histogram of frames. The usual rates of displays and games have one each: 240, 144, 120,
 * 90, 75, 60, 50, 40, 30, 20 and 15 Hz.
 */
#ifndef HD_FRAME_TIMES_H
#define HD_FRAME_TIMES_H

#include "base/types.h"

/* Where each bucket ends; the last one has no end. */
static const uint32_t hd_frame_bound_us[HD_FRAME_BUCKETS - 1] = {5500,  7600,   9600,   12000,  15000,
                                                                 18000, 22000,  28000,  40000,  58000,
                                                                 80000, 120000, 250000, 500000, 1000000};

static inline unsigned hd_frame_bucket(uint64_t ns) {
    unsigned bucket = 0;
    while (bucket < HD_FRAME_BUCKETS - 1 && ns >= hd_frame_bound_us[bucket] * HD_NS_PER_US) {
        bucket++;
    }
    return bucket;
}

#endif
