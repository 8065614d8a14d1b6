/* SPDX-License-Identifier: MIT
 *
 * When two hangs are the same: a number of their cause and of the functions of their hot stack. Worker.
 */
#ifndef HD_FINGERPRINT_H
#define HD_FINGERPRINT_H

#include "report/call_tree.h"
#include "report/report.h"

struct hd_hot_path {
    uint32_t node[HD_TREE_DEPTH_MAX], count; /* outermost first */
};

/* The meaning of frames: tables of modules and scripts, and the tree that the frames are in. */
struct hd_code {
    const struct hd_tree_pool *pool;
    struct hd_modules *modules;
    const struct hd_scripts *scripts;
    const char *executable; /* base name of the program's file */
};

/* Mixes the cause and the innermost functions of the hot stack that are the program's own. Where main is the
 * only one, mixes functions of the program's libraries, and without these any. The same in each run. 0: no
 * sample had a stack, and the hang equals no other. */
uint64_t hd_fingerprint_of(const struct hd_code *code, const struct hd_hot_path *hot,
                           const struct hd_cause *cause);

/* Mixes all functions that have half of the hot stack's time, for a comparison within this run. 0: the stack
 * equals no other. */
uint64_t hd_fingerprint_of_stack(const struct hd_code *code, const struct hd_hot_path *hot);

#endif
