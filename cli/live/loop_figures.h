/* SPDX-License-Identifier: MIT
 *
 * Totals of a loop for a span of time, from two readings of the loop's counters. Pure.
 */
#ifndef CLI_LIVE_LOOP_FIGURES_H
#define CLI_LIVE_LOOP_FIGURES_H

#include "cli/live/run_view.h"

#define LOOP_SPAN_LOOKS 61u /* a minute, at a look each second */

/* The looks at one loop, the oldest gives way. */
struct loop_history {
    uint32_t slot, generation;
    size_t count; /* ever */
    struct loop_look {
        uint64_t at_ns;
        struct run_loop loop;
    } look[LOOP_SPAN_LOOKS];
};

struct loop_figures {
    double busy_percent, turns_per_s, frames_per_s; /* since the look before; less than zero: not known */
    /* Of the turns of the last looks, else of all turns; 0: there are none. The histogram's buckets are a
     * factor of two wide, so the true value is within that factor. */
    uint64_t median_ns, p99_ns;
    uint64_t worst_ns; /* of all: no turn was longer, one was half as long */
};

/* The longest of the shortest turns that are `share` of all (0 to 1). 0: there are none. */
uint64_t loop_quantile(const uint64_t turns[HD_TURN_HISTOGRAM], double share);

/* Adds a look; of another loop than before the history is forgotten. */
void loop_history_add(struct loop_history *p, const struct run_loop *l, uint64_t at_ns);
void loop_figures(const struct loop_history *p, struct loop_figures *out);
/* A histogram gives only the bucket of the worst turn; a hang's duration is exact. Where the longest hang
 * falls into that bucket, it is the worst turn: true, and `worst_ns` is its duration. */
bool loop_figures_limit(struct loop_figures *f, uint64_t longest_hang_ns);

#endif
