/* SPDX-License-Identifier: MIT
 *
 * Reads the label of a turn's loop at each sample and at the turn's end. On the worker thread.
 */
#ifndef HD_WORKER_LABELS_H
#define HD_WORKER_LABELS_H

#include "turn/turn.h"
#include "watch/run.h"

/* The turn's thread was seen at `at_ns`, which is `for_ns` after the time when it was last seen. A label
 * counts only if the turn itself set it, before `at_ns`. An earlier label belongs to an earlier turn, and a
 * later one may belong to the next turn. `start_ticks`: when the turn started, by the loop's counter. */
void hd_labels_read(const struct hd_run *run, struct hd_turn *turn, uint64_t start_ticks, uint64_t at_ns,
                    uint64_t for_ns);

#endif
