/* SPDX-License-Identifier: MIT
 *
 * How many reports a day may have, and how many a fingerprint. Pure: the caller gives the time. Worker.
 */
#ifndef HD_CAPS_H
#define HD_CAPS_H

#include "base/types.h"

#define HD_BUCKETS_MAX 64 /* fingerprints whose reports are counted */

/* A token bucket: each report of a fingerprint takes a token. */
struct hd_bucket {
    uint64_t fingerprint;
    uint64_t filled_ns;
    uint32_t tokens;
};

struct hd_caps {
    struct hd_bucket bucket[HD_BUCKETS_MAX];
    uint32_t day_count; /* reports younger than a day: counted in the spool at day_checked_ns, and since */
    uint64_t day_checked_ns;
    uint64_t suppressed; /* reports since the newest complete one */
};

/* One more report of this fingerprint: `burst` at once, then one each ten minutes. UINT32_MAX: no limit.
 * False: the report is suppressed. */
bool hd_caps_allow_fingerprint(struct hd_caps *c, uint64_t fingerprint, uint32_t burst, uint64_t now_ns);

/* True: the reports of the day must be counted in the spool first, by hd_caps_set_day. A count serves for a
 * minute. */
bool hd_caps_must_count_day(const struct hd_caps *c, uint64_t now_ns);
void hd_caps_set_day(struct hd_caps *c, uint32_t count, uint64_t now_ns);

/* One more report of this day. */
bool hd_caps_allow_day(struct hd_caps *c, uint32_t per_day);
/* A report that was counted is withdrawn. */
void hd_caps_give_back(struct hd_caps *c);

#endif
