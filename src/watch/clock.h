/* SPDX-License-Identifier: MIT
 *
 * Converts the time stamp of a mark to a time of CLOCK_MONOTONIC. A stamp is a value of the CPU's time-stamp
 * counter. A suspend of the machine makes counter and clock differ: the clock stands still, while the counter
 * runs on or starts again at zero. Each function except hd_clock_read gets its readings as arguments, and
 * reads no clock. The monitor calls these functions, and they allocate no memory.
 */
#ifndef HD_CLOCK_H
#define HD_CLOCK_H

#include "loop/loop.h"

struct hd_clock {
    uint64_t ticks, ns; /* the newest pair of readings: counter and clock at the same time */
    /* the first pair of readings after the newest suspend of the machine, or after Hangdog's start */
    uint64_t first_ticks, first_ns;
    /* The value that the counter would have at first_ns if the newest suspend had not changed the counter. If
     * there was no suspend, this value equals first_ticks. */
    uint64_t before_ticks;
    /* the time over which the counter's rate was measured; 0: the rate is not known yet */
    uint64_t measured_ns;
    /* The length of a tick, in 32.32 fixed point. It is atomic, because a thread that adds a watch reads it
     * too. */
    _Atomic uint64_t ns_per_tick_32;
};

/* Reads counter and clock at the same time. If `is_tsc` is false, stamps are times of the clock, so both
 * results are equal. */
void hd_clock_read(bool is_tsc, uint64_t *ticks, uint64_t *ns);

/* Stores the first pair of readings. The counter's rate is known once a second pair is stored. */
void hd_clock_start(struct hd_clock *c, uint64_t ticks, uint64_t ns);

/* Stores a further pair of readings. If the pair gives a more exact rate of the counter, stores the new rate
 * and returns true. */
bool hd_clock_pair(struct hd_clock *c, uint64_t ticks, uint64_t ns);

/* Returns the time of CLOCK_MONOTONIC at the stamp `ticks`, which may be older than the newest suspend. */
static inline uint64_t hd_clock_at(const struct hd_clock *c, uint64_t ticks) {
    uint64_t rate = atomic_load_explicit(&c->ns_per_tick_32, memory_order_relaxed);
    if (ticks <= c->before_ticks && c->before_ticks != c->first_ticks) {
        bool restarted = c->before_ticks > c->first_ticks;
        /* A counter that starts again at zero reaches the same values a second time. So `ticks` may be from
         * before or after this restart. It counts as from before the restart if it is nearer to the counter's
         * last value before the restart than to the newest reading. */
        if (!restarted || (ticks > c->ticks && ticks - c->ticks > c->before_ticks - ticks)) {
            return c->first_ns - hd_ticks_to_ns(c->before_ticks - ticks, rate);
        }
    }
    return ticks <= c->ticks ? c->ns - hd_ticks_to_ns(c->ticks - ticks, rate)
                             : c->ns + hd_ticks_to_ns(ticks - c->ticks, rate);
}

#endif
