/* SPDX-License-Identifier: MIT
 *
 * What watching may cost: 0.1 % of a processor and 1 ms of the watched threads' time a second. Both are
 * saved up while nothing hangs, for a quarter of an hour and for a minute, and spent in hangs. Pure.
 */
#ifndef HD_BUDGET_H
#define HD_BUDGET_H

#include "base/types.h"

#define HD_BUDGET_SPREAD 4 /* over the budget samples are as many times as far apart */

struct hd_allowance {
    int64_t left_ns;
    uint64_t spent_ns; /* in all, as last told */
};

struct hd_budget {
    uint64_t at_ns; /* last look; 0: none yet */
    struct hd_allowance cpu, pause;
    bool over; /* from having nothing left until a fourth is saved up again */
};

/* Time has come to be `now_ns`, and so much is spent since the start. True: over the budget. */
bool hd_budget_look(struct hd_budget *b, uint64_t now_ns, uint64_t cpu_ns, uint64_t pause_ns);

#endif
