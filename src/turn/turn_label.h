/* SPDX-License-Identifier: MIT
 *
 * The label of a turn: the one that most of the turn's samples saw. A turn may handle many requests, each
 * with its label. Only one of them takes long, so a vote of the samples finds it in a fixed memory. On the
 * worker thread.
 */
#ifndef HD_TURN_LABEL_H
#define HD_TURN_LABEL_H

#include "watch/label.h"

struct hd_turn_label {
    struct hd_label_text text;
    uint64_t lead_ns; /* by how much time the text leads all others together */
};

/* The label was `seen` for `for_ns` of the turn. An empty label counts too. */
void hd_turn_label_add(struct hd_turn_label *l, const struct hd_label_text *seen, uint64_t for_ns);

#endif
