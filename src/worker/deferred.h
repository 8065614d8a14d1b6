/* SPDX-License-Identifier: MIT
 *
 * Reports that are written and not shown before their loop is sure: which they are, and what becomes of them.
 */
#ifndef HD_MONITOR_HELD_H
#define HD_MONITOR_HELD_H

#include "worker/worker.h"

void hd_hold(struct hd_worker *k, const struct hd_hang *h);   /* there is room */
bool hd_unhold(struct hd_worker *k, const struct hd_hang *h); /* true: it was held */

/* A report, held or not, is taken out of the spool. */
void hd_withdraw(struct hd_worker *k, const uint8_t *id);

/* Its loop is sure: what is held of it is shown from now on. */
void hd_held_show(struct hd_worker *k, uint8_t loop, uint32_t generation);
/* Another wait is its loop's: what is held was none. */
void hd_held_void(struct hd_worker *k, uint8_t loop, uint32_t generation);
/* The process ends, and nobody is there to settle them for us. */
void hd_held_settle(struct hd_worker *k);

/* The record has how many reports the spool has dropped. */
void hd_note_dropped(struct hd_worker *k);

#endif
