/* SPDX-License-Identifier: MIT
 *
 * When two hangs are the same.
 */
#ifndef HD_REPEAT_H
#define HD_REPEAT_H

#include "worker/worker.h"

struct hd_hot_path {
    uint32_t node[HD_TREE_DEPTH_MAX], count; /* outermost first */
};

/* Of the cause and the innermost functions of the hot stack that are the app's own; where it has none, of
 * all. 0: none, for no sample had a stack: nothing known makes such a hang the same as another. */
uint64_t hd_repeat_fingerprint(struct hd_worker *k, const struct hd_hot_path *hot,
                               const struct hd_cause *cause);

/* Code made at run time has no part in the fingerprint: its addresses mean nothing in the next run. Within
 * this run they do: two hangs are the same if it is at the same places on the way to the same function. 0: no
 * other hang is the same, for there is no hot stack, or it ends in such code, and where its function begins
 * is not known. */
uint64_t hd_repeat_jit_fingerprint(struct hd_worker *k, const struct hd_hot_path *hot);

#endif
