/* SPDX-License-Identifier: MIT
 *
 * Limits the number of reports of a day, and of each fingerprint. The functions read no clock: the caller
 * passes the time. On the worker thread.
 */
#ifndef HD_CAPS_H
#define HD_CAPS_H

#include "base/types.h"

#define HD_BUCKETS_MAX 64 /* how many fingerprints can have a token bucket at the same time */

/* A token bucket: each report of the fingerprint takes one token. */
struct hd_bucket {
    uint64_t fingerprint;
    uint64_t filled_ns;
    uint32_t tokens;
};

struct hd_caps {
    struct hd_bucket bucket[HD_BUCKETS_MAX];
    /* the number of reports of the last 24 hours: those in the spool at day_checked_ns, and those written
     * since that time */
    uint32_t day_count;
    uint64_t day_checked_ns;
    /* the number of reports that the caps suppressed since the newest complete report was written */
    uint64_t suppressed;
};

/* Takes a token for one more report of this fingerprint. A fingerprint starts with `burst` tokens, and gets
 * one more every ten minutes, up to `burst`. If `burst` is UINT32_MAX, there is no limit. False: no token
 * remains, and the caller must suppress the report. */
bool hd_caps_allow_fingerprint(struct hd_caps *c, uint64_t fingerprint, uint32_t burst, uint64_t now_ns);

/* True: the count of the day is missing, or older than a minute. The caller must then count the day's
 * reports in the spool, and call hd_caps_set_day. */
bool hd_caps_must_count_day(const struct hd_caps *c, uint64_t now_ns);
void hd_caps_set_day(struct hd_caps *c, uint32_t count, uint64_t now_ns);

/* Counts one more report of this day. False: the day has `per_day` reports already, so the report is not
 * counted. */
bool hd_caps_allow_day(struct hd_caps *c, uint32_t per_day);
/* Reduces the count of the day by one, because a report that was counted is withdrawn. */
void hd_caps_give_back(struct hd_caps *c);

#endif
