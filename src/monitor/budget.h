/* SPDX-License-Identifier: MIT
 *
 * The budget of watching: 0.1 % of a CPU, and 1 ms of each second for which samples may pause threads.
 * While no loop hangs, unused CPU time is saved up for a quarter of an hour, and unused pauses for a
 * minute. Hangs spend what was saved. Pure functions.
 */
#ifndef HD_BUDGET_H
#define HD_BUDGET_H

#include "base/types.h"

/* while the monitor is over its budget, the time between two samples is this many times as long */
#define HD_BUDGET_SPREAD 4

struct hd_allowance {
    int64_t left_ns;
    /* the CPU time, or the pauses of threads, that Hangdog spent from its start to the last check */
    uint64_t spent_ns;
};

struct hd_budget {
    uint64_t at_ns; /* when the last check was; 0: there was none yet */
    struct hd_allowance cpu, pause;
    /* true from the check that finds the CPU allowance or the pause allowance used up, until both are a
     * fourth full again */
    bool over;
};

/* Checks the budget at `now_ns`. `cpu_ns`: the CPU time that Hangdog has used since its start. `pause_ns`:
 * for how long samples have paused threads since that start. Returns true if the monitor is over its
 * budget. */
bool hd_budget_check(struct hd_budget *b, uint64_t now_ns, uint64_t cpu_ns, uint64_t pause_ns);

#endif
