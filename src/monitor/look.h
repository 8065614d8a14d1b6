/* SPDX-License-Identifier: MIT
 *
 * One loop, one look: for the monitor thread, and the two conversions that it shares with the figures. No
 * allocation.
 */
#ifndef HD_LOOK_H
#define HD_LOOK_H

#include "monitor/monitor.h"

#define HD_LATE_NS (100 * HD_NS_PER_MS) /* a look later than this asks why */

/* Looks at one loop. `late_ns`: by how much this look is later than planned; `own_delay_ns`: how much of that
 * the monitor itself waited, for a processor or for answers. True when the loop runs: the monitor may not
 * park. */
bool hd_look_at(struct hd_monitor *m, struct hd_watch *w, uint64_t now_ns, uint64_t late_ns,
                uint64_t own_delay_ns);

/* For how long the monitor waited for a processor since it was asked last. */
uint64_t hd_monitor_own_delay(struct hd_monitor *m);

/* A turn that is a hang is seen before it is one, however far apart samples are: lowers look_ns. */
void hd_look_often_enough(struct hd_monitor *m, const struct hd_watch *w);
void hd_monitor_open_watch(struct hd_monitor *m, struct hd_watch *w);
void hd_monitor_close_watch(struct hd_monitor *m, struct hd_watch *w);

/* Once: that this is the program's loop beyond doubt. */
void hd_look_send_certain(struct hd_monitor *m, struct hd_watch *w);

/* How long a turn of this loop may last in this state. */
static inline uint64_t hd_threshold_of(const struct hd_settings *s, const struct hd_watch *w,
                                       hangdog_state state) {
    bool own = state == HANGDOG_STATE_FOREGROUND && w->threshold_ns != 0;
    uint64_t ns = own ? w->threshold_ns : s->threshold_ns[state];
    return ns < s->threshold_max_ns ? ns : s->threshold_max_ns;
}

/* The loop need not tell any more when its turn ends. */
static inline void hd_untrack(struct hd_watch *w) {
    atomic_fetch_and_explicit(&w->loop.flags, ~HD_FLAG_TRACKED, memory_order_seq_cst);
    w->look.tracked_turn = 0;
}

static inline uint64_t hd_ticks_now(const struct hd_monitor *m) {
    return m->run->ticks_are_tsc ? hd_ticks_read() : hd_os_now_ns();
}

static inline uint64_t hd_ticks_to_clock(const struct hd_monitor *m, uint64_t ticks) {
    return hd_clock_at(&m->run->clock, ticks);
}

#endif
