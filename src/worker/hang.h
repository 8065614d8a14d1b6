/* SPDX-License-Identifier: MIT
 *
 * A turn that becomes a hang: opened, published again while it lasts, ended. Worker.
 */
#ifndef HD_HANG_H
#define HD_HANG_H

#include "worker/worker.h"

void hd_hang_open(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg);
void hd_hang_end(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg);
/* The turn is over, and was a long frame below the threshold of a hang. */
void hd_hang_frame(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg);
/* Writes the reports that are due. When the ring is empty: what ended meanwhile is written once. */
void hd_hang_update_all(struct hd_worker *k);

/* The turn is none, however long: the monitor does not open it. `turn`: when it started, as messages have it.
 */
void hd_hang_ignore(const struct hd_run *r, struct hd_turn *h, uint64_t turn);

#endif
