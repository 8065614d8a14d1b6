/* SPDX-License-Identifier: MIT
 *
 * Stores pairs of readings (counter and clock), and measures the counter's rate from them.
 */
#include "watch/clock.h"

#define JUMP_NS (1 * HD_NS_PER_MS)
#define PAIR_NS (50 * HD_NS_PER_US) /* the longest time between the two readings of a pair */
/* some 30 µs; if the two readings of a pair are further apart, both are repeated */
#define PAIR_TICKS 100000
#define PAIR_TRIES 3
#define SLEW 1024 /* time daemons (NTP) change the clock's rate by less than one part in SLEW */

void hd_clock_read(bool is_tsc, uint64_t *ticks, uint64_t *ns) {
    unsigned tries = 0;
    /* The two readings must be of the same time. So this loop repeats them if they are far apart, because the
     * thread has lost its CPU between them. */
    do {
        *ticks = is_tsc ? hd_ticks_read() : 0;
        *ns = hd_os_now_ns();
    } while (is_tsc && hd_ticks_read() - *ticks > PAIR_TICKS && tries++ < PAIR_TRIES);
    *ticks = is_tsc ? *ticks : *ns;
}

void hd_clock_start(struct hd_clock *c, uint64_t ticks, uint64_t ns) {
    *c = (struct hd_clock){.first_ticks = ticks, .first_ns = ns, .before_ticks = ticks};
    c->ticks = ticks;
    c->ns = ns;
    atomic_store_explicit(&c->ns_per_tick_32, 1ULL << 32, memory_order_relaxed);
}

/* Returns whether the machine was suspended since the last pair. The sign of a suspend: counter and clock
 * have since then differed by more than the error of the measured rate. */
static bool went_apart(const struct hd_clock *c, uint64_t ticks, uint64_t ns) {
    uint64_t since_ns = ns - c->ns;
    uint64_t stamp_ns = hd_ticks_to_ns(ticks - c->ticks, c->ns_per_tick_32);
    uint64_t off_ns = stamp_ns > since_ns ? stamp_ns - since_ns : since_ns - stamp_ns;
    return off_ns > JUMP_NS + since_ns / SLEW + since_ns / (c->measured_ns / PAIR_NS + 1);
}

bool hd_clock_pair(struct hd_clock *c, uint64_t ticks, uint64_t ns) {
    bool better = false;
    if (c->measured_ns != 0 && went_apart(c, ticks, ns)) {
        c->before_ticks = c->ticks + hd_ticks_ratio_32(ns - c->ns, c->ns_per_tick_32);
        c->first_ticks = ticks;
        c->first_ns = ns;
    } else if (ns - c->first_ns > 2 * c->measured_ns && ticks != c->first_ticks) {
        c->measured_ns = ns - c->first_ns;
        uint64_t rate = hd_ticks_ratio_32(c->measured_ns, ticks - c->first_ticks);
        atomic_store_explicit(&c->ns_per_tick_32, rate, memory_order_relaxed);
        better = true;
    }
    c->ticks = ticks;
    c->ns = ns;
    return better;
}
