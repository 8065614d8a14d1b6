/* SPDX-License-Identifier: MIT
 *
 * The fingerprint of a hang: a number made of the cause and of the functions of the hot stack. Equal hangs
 * have equal ones. On the worker thread.
 */
#ifndef HD_FINGERPRINT_H
#define HD_FINGERPRINT_H

#include "report/call_tree.h"
#include "report/report.h"

struct hd_hot_path {
    uint32_t node[HD_TREE_DEPTH_MAX], count; /* outermost first */
};

/* The tables that give frames a meaning: the tree that they are in, modules, scripts. */
struct hd_code {
    const struct hd_tree_pool *pool;
    struct hd_modules *modules;
    const struct hd_scripts *scripts;
    const char *executable; /* base name of the program's file */
};

/* Mixes the cause and the innermost functions of the hot stack that are the program's own. If main is the
 * only such function, mixes functions of the program's libraries, else any functions. The result is the same
 * in each run. 0: no sample has a stack, and the hang equals no other. */
uint64_t hd_fingerprint_of(const struct hd_code *code, const struct hd_hot_path *hot,
                           const struct hd_cause *cause);

/* Mixes all functions that have half of the hot stack's time. Serves to compare stacks within this run. 0:
 * the stack equals no other. */
uint64_t hd_fingerprint_of_stack(const struct hd_code *code, const struct hd_hot_path *hot);

#endif
