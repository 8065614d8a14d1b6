/* SPDX-License-Identifier: MIT
 *
 * Changes thresholds and the interval of samples while the monitor runs, by a store and a wake. The monitor
 * reads these limits at each look. On any thread, and in signal handlers.
 */
#include <errno.h>

#include "watch/watching.h"

/* Stores the limit and wakes the monitor, which finds out again how often it must look. */
static int apply(struct hd_run *r, _Atomic uint64_t *limit, uint64_t ns) {
    atomic_store(limit, ns);
    atomic_store(&r->channel.program.limits_changed, true);
    hd_run_wake(r);
    return 0;
}

int hangdog_set_threshold(hangdog_loop *loop, uint64_t threshold_ns) {
    struct hd_run *r = hd_run_current();
    struct hd_watch *w = (struct hd_watch *)(void *)loop;
    if (w == NULL) {
        return -EINVAL;
    }
    if (r == NULL || !hd_watch_enter(r)) {
        return -ESRCH;
    }
    uint32_t use = atomic_load(&w->use);
    int rc = use == HD_WATCH_NEW || use == HD_WATCH_ON ? apply(r, &w->threshold_ns, threshold_ns) : -ESRCH;
    hd_watch_leave(r);
    return rc;
}

int hangdog_set_state_threshold(hangdog_state state, uint64_t threshold_ns) {
    struct hd_run *r = hd_run_current();
    if ((unsigned)state >= HANGDOG_STATES || threshold_ns == 0) {
        return -EINVAL;
    }
    return r != NULL ? apply(r, &r->settings.threshold_ns[state], threshold_ns) : -ESRCH;
}

int hangdog_set_interval(uint64_t interval_ns) {
    struct hd_run *r = hd_run_current();
    if (interval_ns < HD_INTERVAL_MIN_NS || interval_ns > HD_INTERVAL_MAX_NS) {
        return -EINVAL;
    }
    return r != NULL ? apply(r, &r->settings.interval_ns, interval_ns) : -ESRCH;
}
