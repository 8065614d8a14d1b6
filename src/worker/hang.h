/* SPDX-License-Identifier: MIT
 *
 * Reports a turn that becomes a hang: when the hang opens, while it lasts, and when it ends. On the worker
 * thread.
 */
#ifndef HD_WORKER_HANG_H
#define HD_WORKER_HANG_H

#include "worker/state.h"

/* The turn has lasted for its threshold: opens a hang and writes its first report, unless evidence shows that
 * the turn is no hang. */
void hd_hang_open(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg);
/* The turn ended: writes the complete report, or withdraws the report if the turn was no hang. Frees the
 * turn. */
void hd_hang_end(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg);
/* The turn ended below the threshold of a hang, and was a long frame: reports it. Frees the turn. */
void hd_hang_frame(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg);

/* Writes the report of each open hang that has at least doubled its age since its last report. Call it when
 * the ring is empty. A hang whose end is still in the ring then gets only its complete report. */
void hd_hang_update_all(struct hd_worker *worker);

/* Marks the turn as not a hang, however long it gets, for the worker and for the monitor. `ticks`: start of
 * the turn, by the loop's counter. */
void hd_hang_ignore(const struct hd_run *run, struct hd_turn *turn, uint64_t ticks);

#endif
