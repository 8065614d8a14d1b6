/* SPDX-License-Identifier: MIT
 *
 * When two hangs are the same.
 */
#ifndef HD_REPEAT_H
#define HD_REPEAT_H

#include "cause/cause.h"
#include "report/call_tree.h"

struct hd_worker;
struct hd_report;

struct hd_repeat {
    uint64_t fingerprint, stack, duration_ns; /* stack: of all functions of its hot stack */
    uint8_t id[HD_UUID_BYTES];
};

struct hd_hot_path {
    uint32_t node[HD_TREE_DEPTH_MAX], count; /* outermost first */
};

/* Of the cause and the innermost functions of the hot stack that are the app's own; where only main is its
 * own, of those of its libraries; where it has none, of all. 0: none, for no sample had a stack: nothing
 * known makes such a hang the same as another. */
uint64_t hd_repeat_fingerprint(struct hd_worker *k, const struct hd_hot_path *hot,
                               const struct hd_cause *cause);

/* A complete report is brief if the newest whole one has the same stack and is hardly shorter. */
void hd_repeat_compare(struct hd_worker *k, const struct hd_hot_path *hot, struct hd_report *r);
void hd_repeat_store(struct hd_worker *k, const struct hd_hot_path *hot, const struct hd_report *r);

#endif
