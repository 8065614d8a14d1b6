/* SPDX-License-Identifier: MIT */
#include "monitor/state.h"

struct hd_look_state *hd_monitor_look_state(struct hd_monitor *m, struct hd_watch *w) {
    struct hd_look_state *first =
        w->index < HD_BLOCK_LOOPS ? m->look : hd_watch_monitor_memory(&m->run->watches, w->index);
    struct hd_look_state *s = &first[w->index % HD_BLOCK_LOOPS];
    s->watch = w;
    return s;
}

uint64_t hd_monitor_ticks_to_ns(const struct hd_monitor *m, uint64_t ticks) {
    return hd_clock_at(&m->run->clock, ticks);
}
