/* SPDX-License-Identifier: MIT
 *
 * Writes the reports of a turn that becomes a hang: when the hang opens, while it lasts, and when it ends. On
 * the worker thread.
 */
#ifndef HD_WORKER_HANG_H
#define HD_WORKER_HANG_H

#include "worker/state.h"

/* Call it when the turn has lasted for its threshold. Opens a hang and writes the hang's first report, unless
 * evidence shows that the turn is no hang. */
void hd_hang_open(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg);
/* Call it when the turn has ended. Writes the complete report of the hang, or withdraws the report if the
 * turn was no hang. Frees the turn. */
void hd_hang_end(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg);
/* Call it when a long display frame has ended: a turn that is longer than settings.frame_drop_ns, and no
 * hang. Writes the report of the long frame, and frees the turn. */
void hd_hang_frame(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg);

/* Writes the report of each open hang that has at least doubled its age since its last report. Call it when
 * the ring is empty, so that a hang whose end is in the ring gets only its complete report. */
void hd_hang_update_all(struct hd_worker *worker);

/* Marks the turn for the worker and for the monitor: it is not a hang, however long it gets. `ticks`: start
 * of the turn, by the loop's counter. */
void hd_hang_ignore(const struct hd_run *run, struct hd_turn *turn, uint64_t ticks);

#endif
