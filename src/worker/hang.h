/* SPDX-License-Identifier: MIT
 *
 * A job of the worker: a turn that becomes a hang is reported when it opens, while it lasts, and when it
 * ends. On the worker thread.
 */
#ifndef HD_WORKER_HANG_H
#define HD_WORKER_HANG_H

#include "worker/state.h"

/* The turn passed its threshold. */
void hd_hang_open(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg);
/* The turn ended; frees it. */
void hd_hang_end(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg);
/* The turn ended below the threshold of a hang, and was a long frame; frees it. */
void hd_hang_frame(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg);

/* Writes the reports that are due. Call it when the ring is empty: a hang whose end is in the ring is written
 * once then. */
void hd_hang_update_all(struct hd_worker *worker);

/* Lets the monitor know that the turn is not a hang, however long it gets. `ticks`: start of the turn, by the
 * loop's counter. */
void hd_hang_ignore(const struct hd_run *run, struct hd_turn *turn, uint64_t ticks);

#endif
