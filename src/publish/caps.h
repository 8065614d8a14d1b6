/* SPDX-License-Identifier: MIT
 *
 * How many reports a day may have, and how many a fingerprint. Pure: the caller gives the time. On the worker
 * thread.
 */
#ifndef HD_CAPS_H
#define HD_CAPS_H

#include "base/types.h"

#define HD_BUCKETS_MAX 64 /* most fingerprints that are counted at a time */

/* A token bucket: each report of a fingerprint takes a token. */
struct hd_bucket {
    uint64_t fingerprint;
    uint64_t filled_ns;
    uint32_t tokens;
};

struct hd_caps {
    struct hd_bucket bucket[HD_BUCKETS_MAX];
    uint32_t day_count; /* reports of the last 24 hours: the count in the spool at day_checked_ns, and those
                           since */
    uint64_t day_checked_ns;
    uint64_t suppressed; /* reports that the caps kept back since the newest complete one */
};

/* Takes a token for one more report of this fingerprint, which has `burst` tokens and gets one each ten
 * minutes. UINT32_MAX: there is no limit. False: the report is suppressed. */
bool hd_caps_allow_fingerprint(struct hd_caps *c, uint64_t fingerprint, uint32_t burst, uint64_t now_ns);

/* True: the caller must count the reports of the day in the spool, for hd_caps_set_day. A count is valid for
 * a minute. */
bool hd_caps_must_count_day(const struct hd_caps *c, uint64_t now_ns);
void hd_caps_set_day(struct hd_caps *c, uint32_t count, uint64_t now_ns);

/* Counts one more report of this day. False: the day has `per_day` reports already. */
bool hd_caps_allow_day(struct hd_caps *c, uint32_t per_day);
/* Reduces the count of the day by one, for a report that is withdrawn. */
void hd_caps_give_back(struct hd_caps *c);

#endif
