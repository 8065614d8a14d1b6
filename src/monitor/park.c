/* SPDX-License-Identifier: MIT
 *
 * A loop whose mark finds HD_FLAG_PARKED wakes the monitor. Before a park, the monitor sets this flag in all
 * loops, and sleeps for HD_SETTLE_NS. Only after that time can it read each loop's newest mark (loop/loop.h),
 * so it looks once more. If that look finds no running loop, the monitor parks.
 */
#include "monitor/park.h"

#include <errno.h>

#include "monitor/cpu_watch.h"
#include "monitor/credentials.h"
#include "monitor/keep_alive.h"
#include "monitor/lateness.h"
#include "monitor/pool_watch.h"

/* Sets HD_FLAG_PARKED in every loop, so that a loop wakes the monitor when it runs. */
static void request_wakes(struct hd_monitor *m) {
    if (m->park.requested_ns != 0) {
        return;
    }
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        atomic_fetch_or_explicit(&w->loop.flags, HD_FLAG_PARKED, memory_order_seq_cst);
    }
    m->park.requested_ns = hd_os_now_ns();
}

static void withdraw_request(struct hd_monitor *m) {
    if (m->park.requested_ns == 0) {
        return;
    }
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        atomic_fetch_and_explicit(&w->loop.flags, ~HD_FLAG_PARKED, memory_order_seq_cst);
    }
    m->park.requested_ns = 0;
}

/* Returns whether every loop still has HD_FLAG_PARKED, and so will wake the monitor. A loop that has run
 * since the flag was set has cleared the flag, and may be idle again. */
static bool all_will_wake(const struct hd_monitor *m) {
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n; i++) {
        struct hd_watch *w = hd_watch_at(&m->run->watches, i);
        uint32_t use = atomic_load_explicit(&w->use, memory_order_acquire);
        bool wakes = use == HD_WATCH_ON &&
                     (atomic_load_explicit(&w->loop.flags, memory_order_seq_cst) & HD_FLAG_PARKED) != 0;
        if (use == HD_WATCH_NEW || use == HD_WATCH_LEAVING || (use == HD_WATCH_ON && !wakes)) {
            return false;
        }
    }
    return true;
}

/* Returns `ns`, or an earlier time at which the CPU watch, a look at pools or a keep-alive message is due. */
static uint64_t earlier(const struct hd_monitor *m, uint64_t ns) {
    uint64_t cpu_ns = hd_cpu_watch_next(m), alive_ns = hd_keep_alive_next(m),
             pools_ns = hd_pool_watch_next(m);
    ns = cpu_ns < ns ? cpu_ns : ns;
    ns = pools_ns < ns ? pools_ns : ns;
    return alive_ns < ns ? alive_ns : ns;
}

static bool wait_was_woken(struct hd_monitor *m, uint32_t seen, uint64_t until_ns) {
    return hd_os.futex_wait((uint32_t *)&m->run->channel.wake, seen, until_ns, false) != -ETIMEDOUT;
}

static void note_wake(struct hd_monitor *m) {
    withdraw_request(m);
    m->park.awake_until_ns = hd_os_now_ns() + m->look_ns;
}

/* Sleeps until a loop runs, or until `until_ns`. The last look came at least HD_SETTLE_NS after the
 * monitor set HD_FLAG_PARKED. That look found that no loop needs a look soon. */
static void park(struct hd_monitor *m, uint32_t seen, uint64_t until_ns) {
    hd_monitor_credentials_check(m, true);
    uint64_t check_ns = hd_monitor_credentials_next();
    until_ns = earlier(m, until_ns < check_ns ? until_ns : check_ns);
    m->late.planned_ns = until_ns;
    /* If a loop clears its flag after this check, it also adds to channel.wake, so wait_was_woken() returns
     * at once. */
    if (all_will_wake(m) && !wait_was_woken(m, seen, until_ns)) {
        return; /* the flags stay set, because the time is over and no loop has run */
    }
    note_wake(m);
    m->park.was_parked = true;
}

/* Sleeps until the next look, but does not park. After a wake, the monitor does not park for m->look_ns, so
 * that a busy loop does not wake it at each turn. After a park, the monitor sets HD_FLAG_PARKED again at
 * once. So a loop that runs only for a short moment costs two looks. At the second look the loop is idle, and
 * HD_SETTLE_NS has passed since the flag was set, so the monitor parks. */
static void doze(struct hd_monitor *m, uint32_t seen, uint64_t next_ns, bool may_park) {
    uint64_t until_ns = next_ns;
    bool request = m->park.was_parked;
    if (may_park && m->looked_ns < m->park.awake_until_ns) {
        until_ns = m->park.awake_until_ns;
    } else if (may_park) {
        until_ns = hd_os_now_ns() + HD_SETTLE_NS + HD_SETTLE_NS / 4;
        request = true;
    }
    until_ns = earlier(m, until_ns < next_ns ? until_ns : next_ns);
    m->park.was_parked = false;
    if (request) {
        request_wakes(m);
    } else {
        withdraw_request(m);
    }
    if (wait_was_woken(m, seen, until_ns)) {
        note_wake(m);
    }
    /* a look before this time is not late: the end of a turn may wake the monitor earlier */
    m->late.planned_ns = until_ns;
}

void hd_park_wait(struct hd_monitor *m, uint32_t seen, uint64_t next_ns) {
    /* true if no look is due soon: each loop is idle, or in a turn so long that looks at it are rare */
    bool may_park = next_ns > m->looked_ns + m->look_ns + m->look_ns / 2;
    bool settled = m->park.requested_ns != 0 && m->looked_ns >= m->park.requested_ns + HD_SETTLE_NS;
    if (may_park && settled) {
        park(m, seen, next_ns);
    } else {
        doze(m, seen, next_ns, may_park);
    }
    if (next_ns == HD_NEVER) {
        hd_lateness_is_unknown(m);
    }
}
