/* SPDX-License-Identifier: MIT */
#include "report/session.h"

void hd_session_fill(const struct hd_record *c, uint64_t used_ns, struct hd_session *s,
                     struct hd_monitor_cost *cost) {
    *s = (struct hd_session){.used_ns = used_ns,
                             .foreground_ns = atomic_load(&c->foreground_ns),
                             .launch_ns = atomic_load(&c->launch_ns),
                             .idle_ns = atomic_load(&c->idle_ns),
                             .busy_ns = atomic_load(&c->busy_ns),
                             .hangs = atomic_load(&c->hangs),
                             .hang_ns = atomic_load(&c->hang_ns),
                             .frames = atomic_load(&c->frames),
                             .frames_dropped = atomic_load(&c->frames_dropped),
                             .frame_ns = atomic_load(&c->frame_ns),
                             .hitch_ns = atomic_load(&c->hitch_ns),
                             .reports_dropped = atomic_load(&c->reports_dropped),
                             .withdrawn = atomic_load(&c->withdrawn),
                             .suppressed_count = atomic_load(&c->suppressed),
                             .suppressed_total_ns = atomic_load(&c->suppressed_ns),
                             .suppressed_max_ns = atomic_load(&c->suppressed_max_ns)};
    for (unsigned i = 0; i < HD_TURN_BUCKETS; i++) {
        s->turn_histogram[i] = atomic_load_explicit(&c->turn_histogram[i], memory_order_relaxed);
        s->turns += s->turn_histogram[i];
    }
    for (unsigned i = 0; i < HD_FRAME_BUCKETS; i++) {
        s->frame_histogram[i] = atomic_load_explicit(&c->frame_histogram[i], memory_order_relaxed);
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
