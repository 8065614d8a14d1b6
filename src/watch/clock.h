/* SPDX-License-Identifier: MIT
 *
 * Converts the time stamp of a mark to CLOCK_MONOTONIC. A stamp is a value of the CPU's time-stamp counter.
 * A suspend of the machine makes counter and clock differ: the clock stands still, while the counter runs on
 * or starts again at zero. All functions but hd_clock_read are pure: they take readings as arguments. On the
 * monitor thread; no allocation.
 */
#ifndef HD_CLOCK_H
#define HD_CLOCK_H

#include "loop/loop.h"

struct hd_clock {
    uint64_t ticks, ns;             /* the newest pair of readings: counter and clock at one time */
    uint64_t first_ticks, first_ns; /* the first pair after the newest suspend, or after the start */
    /* the counter's value at the first pair, if there had been no suspend */
    uint64_t before_ticks;
    uint64_t measured_ns; /* the time over which the rate was measured; 0: the rate is not known yet */
    /* the rate, in 32.32 fixed point; atomic, because a thread that adds a watch reads the rate too */
    _Atomic uint64_t ns_per_tick_32;
};

/* Reads counter and clock at one time. If `is_tsc` is false, stamps are times of the clock, and both results
 * are equal. */
void hd_clock_read(bool is_tsc, uint64_t *ticks, uint64_t *ns);

/* Stores the first pair of readings. The rate is known once the second pair is stored. */
void hd_clock_start(struct hd_clock *c, uint64_t ticks, uint64_t ns);

/* Stores a further pair of readings, and measures the rate again if that makes it more exact. Returns true
 * if the rate has changed. */
bool hd_clock_pair(struct hd_clock *c, uint64_t ticks, uint64_t ns);

/* Returns CLOCK_MONOTONIC at the stamp `ticks`, which may be older than the newest suspend. */
static inline uint64_t hd_clock_at(const struct hd_clock *c, uint64_t ticks) {
    uint64_t rate = atomic_load_explicit(&c->ns_per_tick_32, memory_order_relaxed);
    if (ticks <= c->before_ticks && c->before_ticks != c->first_ticks) {
        bool restarted = c->before_ticks > c->first_ticks;
        /* A restarted counter reaches the same values a second time. So the stamp counts as from before the
         * restart if it is nearer to the last value before the restart than to the newest reading. */
        if (!restarted || (ticks > c->ticks && ticks - c->ticks > c->before_ticks - ticks)) {
            return c->first_ns - hd_ticks_to_ns(c->before_ticks - ticks, rate);
        }
    }
    return ticks <= c->ticks ? c->ns - hd_ticks_to_ns(c->ticks - ticks, rate)
                             : c->ns + hd_ticks_to_ns(ticks - c->ticks, rate);
}

#endif
