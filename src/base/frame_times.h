/* SPDX-License-Identifier: MIT
 *
 * The buckets of the histogram of frame times. Each usual rate of displays and games has a bucket: 240, 144,
 * 120, 90, 75, 60, 50, 40, 30, 20 and 15 Hz. Pure.
 */
#ifndef HD_FRAME_TIMES_H
#define HD_FRAME_TIMES_H

#include "base/types.h"

/* The upper bound of each bucket; the last bucket has none. */
extern const uint32_t hd_frame_bound_us[HD_FRAME_BUCKETS - 1];

/* The bucket of a frame that took `ns`. */
unsigned hd_frame_bucket(uint64_t ns);

#endif
