/* SPDX-License-Identifier: MIT
 *
 * Worker. No allocation.
 */
#include "worker/caps.h"

#include "worker/worker.h"

#define BUCKET_REFILL_NS (600 * HD_NS_PER_S)
#define DAY_NS (24 * 3600 * HD_NS_PER_S)
#define DAY_CHECK_NS (60 * HD_NS_PER_S)

bool hd_caps_allow_fingerprint(struct hd_worker *k, uint64_t print) {
    uint32_t burst = k->run->settings.reports_per_fingerprint;
    uint64_t now_ns = hd_os_now_ns();
    if (burst == UINT32_MAX || print == 0) { /* hangs without a stack are not of one kind */
        return true;
    }
    struct hd_bucket *b = &k->caps.bucket[0];
    for (unsigned i = 0; i < HD_BUCKETS_MAX; i++) {
        struct hd_bucket *c = &k->caps.bucket[i];
        if (c->fingerprint == print) {
            b = c;
            break;
        }
        b = c->filled_ns < b->filled_ns ? c : b; /* else the one that was filled longest ago */
    }
    if (b->fingerprint != print) {
        *b = (struct hd_bucket){.fingerprint = print, .filled_ns = now_ns, .tokens = burst};
    }
    uint64_t more = (now_ns - b->filled_ns) / BUCKET_REFILL_NS;
    if (more > 0) {
        b->tokens = b->tokens + more > burst ? burst : b->tokens + (uint32_t)more;
        b->filled_ns += more * BUCKET_REFILL_NS;
    }
    if (b->tokens == 0) {
        return false;
    }
    b->tokens--;
    return true;
}

/* Counted in the spool by time, so that a restart loop cannot escape. */
static bool day_allows(struct hd_worker *k) {
    if (k->run->settings.reports_per_day == UINT32_MAX) {
        return true;
    }
    uint64_t now_ns = hd_os_now_ns();
    if (k->caps.day_checked_ns == 0 || now_ns - k->caps.day_checked_ns > DAY_CHECK_NS) {
        if (hd_spool_count_last(&k->spool, DAY_NS, &k->caps.day_count) != 0) {
            k->caps.day_count = 0;
        }
        k->caps.day_count += k->deferred.count; /* not yet by their names */
        k->caps.day_checked_ns = now_ns;
    }
    return k->caps.day_count < k->run->settings.reports_per_day;
}

bool hd_caps_allow_today(struct hd_worker *k) {
    bool allowed = day_allows(k);
    k->caps.day_count += allowed;
    return allowed;
}
