/* SPDX-License-Identifier: MIT
 *
 * The counter that stamps marks, beside CLOCK_MONOTONIC: what the clock said at a stamp. The two go apart
 * while the machine is suspended: the clock stands still, the counter runs on or begins anew. Pure: both
 * readings are arguments. Monitor; no allocation.
 */
#ifndef HD_CLOCK_H
#define HD_CLOCK_H

#include "loop/loop.h"

struct hd_clock {
    uint64_t ticks, ns;             /* the last pair */
    uint64_t first_ticks, first_ns; /* the first one since the two went apart: the rate is measured from it */
    uint64_t before_ticks;          /* what the counter of before would have said at that one */
    uint64_t measured_ns;           /* over how long the rate was measured */
    _Atomic uint64_t ns_per_tick_32; /* threads that begin to be watched read it too */
};

/* Both, read at one time. `is_tsc`: else stamps are of the clock itself. */
void hd_clock_read(bool is_tsc, uint64_t *ticks, uint64_t *ns);

/* The first pair. The second one gives a first rate. */
void hd_clock_begin(struct hd_clock *c, uint64_t ticks, uint64_t ns);

/* One more. True when the rate is another from now on. */
bool hd_clock_pair(struct hd_clock *c, uint64_t ticks, uint64_t ns);

/* The clock at a stamp, of before or after they went apart. */
static inline uint64_t hd_clock_at(const struct hd_clock *c, uint64_t ticks) {
    uint64_t rate = atomic_load_explicit(&c->ns_per_tick_32, memory_order_relaxed);
    if (ticks <= c->before_ticks && c->before_ticks != c->first_ticks) {
        bool began_anew = c->before_ticks > c->first_ticks;
        /* then it is a stamp of before where it is nearer to that end than to the last pair */
        if (!began_anew || (ticks > c->ticks && ticks - c->ticks > c->before_ticks - ticks)) {
            return c->first_ns - hd_ticks_to_ns(c->before_ticks - ticks, rate);
        }
    }
    return ticks <= c->ticks ? c->ns - hd_ticks_to_ns(c->ticks - ticks, rate)
                             : c->ns + hd_ticks_to_ns(ticks - c->ticks, rate);
}

#endif
