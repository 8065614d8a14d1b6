/* SPDX-License-Identifier: MIT */
#include "report/session.h"

void hd_session_fill(const struct hd_record *c, uint64_t used_ns, struct hd_session *s,
                     struct hd_monitor_cost *cost) {
    *s = (struct hd_session){.used_ns = used_ns,
                             .foreground_ns = atomic_load(&c->turns.foreground_ns),
                             .launch_ns = atomic_load(&c->turns.launch_ns),
                             .idle_ns = atomic_load(&c->turns.idle_ns),
                             .busy_ns = atomic_load(&c->turns.busy_ns),
                             .hangs = atomic_load(&c->hangs.count),
                             .hang_ns = atomic_load(&c->hangs.total_ns),
                             .pool_stalls = atomic_load(&c->pools.stalls),
                             .pool_stall_ns = atomic_load(&c->pools.stall_ns),
                             .frames = atomic_load(&c->frames.count),
                             .frames_dropped = atomic_load(&c->frames.dropped),
                             .frame_ns = atomic_load(&c->frames.total_ns),
                             .hitch_ns = atomic_load(&c->frames.hitch_ns),
                             .reports_dropped = atomic_load(&c->losses.dropped_reports),
                             .withdrawn = atomic_load(&c->losses.withdrawn),
                             .suppressed_count = atomic_load(&c->losses.suppressed),
                             .suppressed_total_ns = atomic_load(&c->losses.suppressed_ns),
                             .suppressed_max_ns = atomic_load(&c->losses.suppressed_max_ns)};
    for (unsigned i = 0; i < HD_TURN_BUCKETS; i++) {
        s->turn_histogram[i] = atomic_load_explicit(&c->turns.histogram[i], memory_order_relaxed);
        s->turns += s->turn_histogram[i];
    }
    for (unsigned i = 0; i < HD_FRAME_BUCKETS; i++) {
        s->frame_histogram[i] = atomic_load_explicit(&c->frames.histogram[i], memory_order_relaxed);
    }
    *cost = (struct hd_monitor_cost){.samples = atomic_load(&c->cost.samples),
                                     .interrupted_syscalls = atomic_load(&c->cost.interrupted_syscalls),
                                     .restarted_syscalls = atomic_load(&c->cost.restarted_syscalls),
                                     .pause_max_ns = atomic_load(&c->cost.pause_max_ns),
                                     .pause_total_ns = atomic_load(&c->cost.pause_total_ns),
                                     .cpu_ns = atomic_load(&c->cost.cpu_ns),
                                     .late_max_ns = atomic_load(&c->cost.late_max_ns),
                                     .degraded = atomic_load(&c->losses.degraded) != 0};
}
