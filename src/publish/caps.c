/* SPDX-License-Identifier: MIT
 *
 * One token bucket for each fingerprint (for at most HD_BUCKETS_MAX at a time), and one count for all reports
 * of a day. On the worker thread.
 */
#include "publish/caps.h"

#define BUCKET_REFILL_NS (600 * HD_NS_PER_S)
#define DAY_CHECK_NS (60 * HD_NS_PER_S)

/* Returns the fingerprint's bucket. If the fingerprint has no bucket, returns the bucket that was refilled
 * longest ago, and the caller gives that bucket to the fingerprint. */
static struct hd_bucket *bucket_of(struct hd_caps *c, uint64_t fingerprint) {
    struct hd_bucket *oldest = &c->bucket[0];
    for (unsigned i = 0; i < HD_BUCKETS_MAX; i++) {
        struct hd_bucket *b = &c->bucket[i];
        if (b->fingerprint == fingerprint) {
            return b;
        }
        oldest = b->filled_ns < oldest->filled_ns ? b : oldest;
    }
    return oldest;
}

static void refill(struct hd_bucket *b, uint32_t burst, uint64_t now_ns) {
    uint64_t more = (now_ns - b->filled_ns) / BUCKET_REFILL_NS;
    if (more > 0) {
        b->tokens = b->tokens + more > burst ? burst : b->tokens + (uint32_t)more;
        b->filled_ns += more * BUCKET_REFILL_NS;
    }
}

bool hd_caps_allow_fingerprint(struct hd_caps *c, uint64_t fingerprint, uint32_t burst, uint64_t now_ns) {
    /* fingerprint 0 has no limit, because hangs without a stack may have nothing in common */
    if (burst == UINT32_MAX || fingerprint == 0) {
        return true;
    }
    struct hd_bucket *b = bucket_of(c, fingerprint);
    if (b->fingerprint != fingerprint) {
        *b = (struct hd_bucket){.fingerprint = fingerprint, .filled_ns = now_ns, .tokens = burst};
    }
    refill(b, burst, now_ns);
    if (b->tokens == 0) {
        return false;
    }
    b->tokens--;
    return true;
}

bool hd_caps_must_count_day(const struct hd_caps *c, uint64_t now_ns) {
    return c->day_checked_ns == 0 || now_ns - c->day_checked_ns > DAY_CHECK_NS;
}

void hd_caps_set_day(struct hd_caps *c, uint32_t count, uint64_t now_ns) {
    c->day_count = count;
    c->day_checked_ns = now_ns;
}

bool hd_caps_allow_day(struct hd_caps *c, uint32_t per_day) {
    bool allowed = per_day == UINT32_MAX || c->day_count < per_day;
    c->day_count += allowed;
    return allowed;
}

void hd_caps_give_back(struct hd_caps *c) {
    c->day_count -= c->day_count != 0;
}
