/* SPDX-License-Identifier: MIT
 *
 * The fingerprint of a hang: a number made from the cause and from functions of the hot stack. Hangs with
 * the same cause in the same functions have the same fingerprint. On the worker thread.
 */
#ifndef HD_FINGERPRINT_H
#define HD_FINGERPRINT_H

#include "report/call_tree.h"
#include "report/report.h"

struct hd_hot_path {
    /* `count` indices of nodes in the tree's pool, outermost frame first */
    uint32_t node[HD_TREE_DEPTH_MAX], count;
};

/* The data by which the function of a frame is found: nodes of the call trees, the modules, and functions of
 * scripts. */
struct hd_code {
    const struct hd_tree_pool *pool;
    struct hd_modules *modules;
    const struct hd_scripts *scripts;
    const char *executable; /* base name of the program's executable file */
};

/* Returns a hash of the cause and of the innermost functions of the hot stack that are the program's own. If
 * main is the only such function, uses functions of libraries instead. If the stack has no function of either
 * kind, uses any functions. The result is the same in each run of the program. 0: no sample has a stack, so
 * the hang counts as different from all others. */
uint64_t hd_fingerprint_of(const struct hd_code *code, const struct hd_hot_path *hot,
                           const struct hd_cause *cause);

/* Returns a hash of all functions that have at least half of the hot stack's time. The result serves only to
 * compare stacks of this run. 0: the stack counts as different from all others. */
uint64_t hd_fingerprint_of_stack(const struct hd_code *code, const struct hd_hot_path *hot);

#endif
