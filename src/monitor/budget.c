/* SPDX-License-Identifier: MIT
 *
 * The two allowances of the budget, CPU time and pauses of threads, which grow with time.
 */
#include "monitor/budget.h"

#define PER_MILLE 1000
#define CPU_SAVED_NS ((int64_t)(900 * HD_NS_PER_S / PER_MILLE))
#define PAUSE_SAVED_NS ((int64_t)(60 * HD_NS_PER_S / PER_MILLE))

/* Adds a thousandth of the passed time to the allowance, and subtracts what was spent since the last
 * check. The allowance never exceeds `saved_ns`. It falls below zero by at most a fourth of `saved_ns`, so
 * that one costly second does not reduce samples for long. */
static void account(struct hd_allowance *a, uint64_t passed_ns, uint64_t spent_ns, int64_t saved_ns) {
    uint64_t spend_ns = spent_ns > a->spent_ns ? spent_ns - a->spent_ns : 0;
    int64_t grown =
        passed_ns / PER_MILLE < (uint64_t)(2 * saved_ns) ? (int64_t)(passed_ns / PER_MILLE) : 2 * saved_ns;
    int64_t most = 4 * saved_ns;
    a->spent_ns = spent_ns;
    a->left_ns += grown - (spend_ns < (uint64_t)most ? (int64_t)spend_ns : most);
    a->left_ns = a->left_ns < saved_ns ? a->left_ns : saved_ns;
    a->left_ns = a->left_ns > -saved_ns / 4 ? a->left_ns : -saved_ns / 4;
}

bool hd_budget_check(struct hd_budget *b, uint64_t now_ns, uint64_t cpu_ns, uint64_t pause_ns) {
    if (b->at_ns == 0) {
        b->cpu.left_ns = CPU_SAVED_NS;
        b->pause.left_ns = PAUSE_SAVED_NS;
        b->at_ns = now_ns;
    }
    account(&b->cpu, now_ns - b->at_ns, cpu_ns, CPU_SAVED_NS);
    account(&b->pause, now_ns - b->at_ns, pause_ns, PAUSE_SAVED_NS);
    b->at_ns = now_ns;
    int64_t cpu_needed = b->over ? CPU_SAVED_NS / 4 : 0;
    int64_t pause_needed = b->over ? PAUSE_SAVED_NS / 4 : 0;
    b->over = b->cpu.left_ns < cpu_needed || b->pause.left_ns < pause_needed;
    return b->over;
}
