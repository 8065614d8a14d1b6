/* SPDX-License-Identifier: MIT
 *
 * How many reports a day may have, and a fingerprint. Worker.
 */
#ifndef HD_CAPS_H
#define HD_CAPS_H

#include "base/types.h"

#define HD_BUCKETS_MAX 64 /* fingerprints whose reports are counted */

struct hd_worker;

/* A token bucket of one fingerprint. */
struct hd_bucket {
    uint64_t fingerprint;
    uint64_t filled_ns;
    uint32_t tokens;
};

struct hd_caps {
    struct hd_bucket bucket[HD_BUCKETS_MAX];
    uint32_t day_count; /* reports in the spool younger than a day, as counted at day_checked_ns */
    uint64_t day_checked_ns;
    uint64_t suppressed; /* since the newest whole report */
};

/* Each counts one more report where it allows it. */
bool hd_caps_allow_today(struct hd_worker *k);
bool hd_caps_allow_fingerprint(struct hd_worker *k, uint64_t fingerprint);

#endif
