/* SPDX-License-Identifier: MIT
 *
 * What the record says of a session: the worker writes it at a stop, the runner whatever ended the program.
 */
#include "record/record.h"

void hd_record_foreground(struct hd_record *r, bool is, uint64_t now_ns) {
    uint64_t since_ns = atomic_exchange(&r->foreground_since_ns, is ? now_ns : 0);
    if (since_ns != 0 && now_ns > since_ns) { /* who else tells it read the clock later */
        atomic_fetch_add(&r->foreground_ns, now_ns - since_ns);
    }
}

void hd_record_sum_up(const struct hd_record *c, uint64_t used_ns, struct hd_session *s,
                      struct hd_monitor_cost *cost) {
    *s = (struct hd_session){.used_ns = used_ns,
                             .foreground_ns = atomic_load(&c->foreground_ns),
                             .launch_ns = atomic_load(&c->launch_ns),
                             .idle_ns = atomic_load(&c->idle_ns),
                             .busy_ns = atomic_load(&c->busy_ns),
                             .hangs = atomic_load(&c->hangs),
                             .hang_ns = atomic_load(&c->hang_ns),
                             .reports_dropped = atomic_load(&c->reports_dropped),
                             .withdrawn = atomic_load(&c->withdrawn),
                             .suppressed_count = atomic_load(&c->suppressed),
                             .suppressed_total_ns = atomic_load(&c->suppressed_ns),
                             .suppressed_max_ns = atomic_load(&c->suppressed_max_ns)};
    for (unsigned i = 0; i < HD_TURN_BUCKETS; i++) {
        s->turn_histogram[i] = atomic_load_explicit(&c->turn_histogram[i], memory_order_relaxed);
        s->turns += s->turn_histogram[i];
    }
    *cost = (struct hd_monitor_cost){.samples = atomic_load(&c->samples),
                                     .interrupted_syscalls = atomic_load(&c->interrupted_syscalls),
                                     .restarted_syscalls = atomic_load(&c->restarted_syscalls),
                                     .pause_max_ns = atomic_load(&c->pause_max_ns),
                                     .pause_total_ns = atomic_load(&c->pause_total_ns),
                                     .cpu_ns = atomic_load(&c->cpu_ns),
                                     .late_max_ns = atomic_load(&c->late_max_ns),
                                     .degraded = atomic_load(&c->degraded) != 0};
}

void hd_record_add_suppressed(struct hd_record *r, uint64_t duration_ns) {
    uint64_t longest = atomic_load_explicit(&r->suppressed_max_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->suppressed, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->suppressed_ns, duration_ns, memory_order_relaxed);
    while (longest < duration_ns &&
           !atomic_compare_exchange_weak(&r->suppressed_max_ns, &longest, duration_ns)) {
    }
}

void hd_record_add_untold(struct hd_record *r, uint64_t duration_ns) {
    atomic_fetch_add_explicit(&r->hangs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->hang_ns, duration_ns, memory_order_relaxed);
    hd_record_add_suppressed(r, duration_ns);
}
