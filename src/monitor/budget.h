/* SPDX-License-Identifier: MIT
 *
 * The budget of watching: 0.1 % of a CPU, and 1 ms of the watched threads' time a second. Both are saved up
 * while no loop hangs, for a quarter of an hour and for a minute, and spent in hangs. Pure.
 */
#ifndef HD_BUDGET_H
#define HD_BUDGET_H

#include "base/types.h"

#define HD_BUDGET_SPREAD 4 /* over the budget, the distance of samples is so many times as long */

struct hd_allowance {
    int64_t left_ns;
    uint64_t spent_ns; /* in all, at the last check */
};

struct hd_budget {
    uint64_t at_ns; /* last check; 0: there was none yet */
    struct hd_allowance cpu, pause;
    bool over; /* from the moment that one is spent, until a fourth of it is saved up again */
};

/* Checks at `now_ns` how much is spent since the start. True: the monitor is over the budget. */
bool hd_budget_check(struct hd_budget *b, uint64_t now_ns, uint64_t cpu_ns, uint64_t pause_ns);

#endif
