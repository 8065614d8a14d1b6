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
uint64_t hd_own_delay(struct hd_monitor *m);

void hd_watch_open(struct hd_monitor *m, struct hd_watch *w);
void hd_watch_close(struct hd_monitor *m, struct hd_watch *w);

/* Once: that this is the program's loop beyond doubt. */
void hd_tell_when_sure(struct hd_monitor *m, struct hd_watch *w);

/* Slots that have ever been in use: the others' memory is left cold. */
static inline unsigned hd_slots(const struct hd_monitor *m) {
    return atomic_load_explicit(&m->slots, memory_order_acquire);
}

/* The watch that is on at slot *i or behind it, with *i behind that one; NULL: no more. */
static inline struct hd_watch *hd_next_on(const struct hd_monitor *m, unsigned *i) {
    for (unsigned n = hd_slots(m); *i < n;) {
        struct hd_watch *w = hd_watch_at(m, (*i)++);
        if (atomic_load_explicit(&w->use, memory_order_acquire) == HD_WATCH_ON) {
            return w;
        }
    }
    return NULL;
}

/* Loops are not asked for anything: their threads' calls may kill. */
static inline bool hd_is_filtered(const struct hd_monitor *m) {
    return atomic_load_explicit(&m->filter, memory_order_relaxed) == HD_FILTER_THERE;
}

/* The loop need not tell any more when its turn ends. */
static inline void hd_untrack(struct hd_watch *w) {
    atomic_fetch_and_explicit(&w->loop.flags, ~HD_FLAG_TRACKED, memory_order_seq_cst);
    w->tracked_turn = 0;
}

static inline uint64_t hd_ticks_now(const struct hd_monitor *m) {
    return m->ticks_are_tsc ? hd_ticks_read() : hd_os_now_ns();
}

static inline uint64_t hd_ticks_to_clock(const struct hd_monitor *m, uint64_t ticks) {
    return hd_clock_at(&m->clock, ticks);
}

#endif
