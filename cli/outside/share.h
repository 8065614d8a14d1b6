/* SPDX-License-Identifier: MIT
 *
 * How much CPU time the watcher has spent on the waits of one program, or of one user's programs. A program
 * may make new kinds of waits without end. Pure: the caller has the clocks.
 */
#ifndef CLI_OUTSIDE_SHARE_H
#define CLI_OUTSIDE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros: nothing is spent. */
struct outside_share {
    uint64_t spent_ns;   /* not yet paid back */
    uint64_t updated_ns; /* CLOCK_MONOTONIC */
};

/* One part in `parts` of the time since the last call pays back. True: less than `most_ns` is spent. */
static inline bool outside_share_is_left(struct outside_share *s, uint64_t now_ns, uint64_t parts,
                                         uint64_t most_ns) {
    uint64_t paid_ns = (now_ns - s->updated_ns) / parts;
    s->spent_ns -= paid_ns < s->spent_ns ? paid_ns : s->spent_ns;
    s->updated_ns = now_ns;
    return s->spent_ns < most_ns;
}

#endif
