/* SPDX-License-Identifier: MIT
 *
 * The buckets of the histogram of frames. The usual rates of displays and games have one each: 240, 144, 120,
 * 90, 75, 60, 50, 40, 30, 20 and 15 Hz.
 */
#ifndef HD_FRAME_TIMES_H
#define HD_FRAME_TIMES_H

#include "base/types.h"

/* Where each bucket ends; the last one has no end. */
extern const uint32_t hd_frame_bound_us[HD_FRAME_BUCKETS - 1];

unsigned hd_frame_bucket(uint64_t ns);

#endif
