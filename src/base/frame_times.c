/* SPDX-License-Identifier: MIT */
#include "base/frame_times.h"

const uint32_t hd_frame_bound_us[HD_FRAME_BUCKETS - 1] = {5500,  7600,   9600,   12000,  15000,
                                                          18000, 22000,  28000,  40000,  58000,
                                                          80000, 120000, 250000, 500000, 1000000};

unsigned hd_frame_bucket(uint64_t ns) {
    unsigned bucket = 0;
    while (bucket < HD_FRAME_BUCKETS - 1 && ns >= hd_frame_bound_us[bucket] * HD_NS_PER_US) {
        bucket++;
    }
    return bucket;
}
