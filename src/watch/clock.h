/* SPDX-License-Identifier: MIT
 *
 * CLOCK_MONOTONIC at a value of the counter that stamps marks. The two go apart while the machine is
 * suspended: the clock stands still, while the counter runs on or starts again at zero. Pure: both readings
 * are arguments. Monitor; no allocation.
 */
#ifndef HD_CLOCK_H
#define HD_CLOCK_H

#include "loop/loop.h"

struct hd_clock {
    uint64_t ticks, ns;              /* the last pair */
    uint64_t first_ticks, first_ns;  /* the first pair since they went apart: the rate is measured from it */
    uint64_t before_ticks;           /* the older counter's value at that pair, if it had run on */
    uint64_t measured_ns;            /* how long the rate was measured */
    _Atomic uint64_t ns_per_tick_32; /* a thread that adds a watch reads it too */
};

/* Reads both at one time. Not `is_tsc`: stamps are of the clock itself. */
void hd_clock_read(bool is_tsc, uint64_t *ticks, uint64_t *ns);

/* Takes the first pair. The second pair gives a first rate. */
void hd_clock_start(struct hd_clock *c, uint64_t ticks, uint64_t ns);

/* Takes one more pair. True: the rate has changed. */
bool hd_clock_pair(struct hd_clock *c, uint64_t ticks, uint64_t ns);

/* The clock at a stamp. The stamp may be older than the last suspend. */
static inline uint64_t hd_clock_at(const struct hd_clock *c, uint64_t ticks) {
    uint64_t rate = atomic_load_explicit(&c->ns_per_tick_32, memory_order_relaxed);
    if (ticks <= c->before_ticks && c->before_ticks != c->first_ticks) {
        bool restarted = c->before_ticks > c->first_ticks;
        /* the stamp may be of either counter then: it is of the nearer one */
        if (!restarted || (ticks > c->ticks && ticks - c->ticks > c->before_ticks - ticks)) {
            return c->first_ns - hd_ticks_to_ns(c->before_ticks - ticks, rate);
        }
    }
    return ticks <= c->ticks ? c->ns - hd_ticks_to_ns(c->ticks - ticks, rate)
                             : c->ns + hd_ticks_to_ns(ticks - c->ticks, rate);
}

#endif
