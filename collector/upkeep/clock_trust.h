/* SPDX-License-Identifier: MIT
 *
 * Whether the clock may decide which reports are old. A clock that jumps by more than a day is believed once
 * it has stayed for a day. Pure.
 */
#ifndef COLLECTOR_CLOCK_TRUST_H
#define COLLECTOR_CLOCK_TRUST_H

#include <stdbool.h>
#include <stdint.h>

/* The collector keeps these three numbers in the store. All zero: the store has none yet. */
struct clock_trust {
    int64_t seen_ms;   /* the last time that was believed */
    int64_t other_ms;  /* the last time of a clock that differs */
    int64_t waited_ms; /* for how long that clock has stayed; 0: there is none */
};

enum clock_verdict {
    CLOCK_TRUSTED,
    CLOCK_JUMPED, /* since the look before */
    CLOCK_WAITS   /* it has jumped, and not stayed for a day */
};

/* One look. `now_ms`: what the clock says; `passed_ms`: what CLOCK_BOOTTIME says since the look before, 0 at
 * the first look of a process. */
enum clock_verdict clock_trust_look(struct clock_trust *c, int64_t now_ms, int64_t passed_ms);

#endif
