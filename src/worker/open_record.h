/* SPDX-License-Identifier: MIT
 *
 * Which of the open hangs the record has, for a process that is killed. Worker.
 */
#ifndef HD_OPEN_RECORD_H
#define HD_OPEN_RECORD_H

#include "worker/worker.h"

/* The record has hang h, or another one that matters more; then: it has ended. And its last report is on
 * disk, or is withheld: the record has another one. */
void hd_open_record_update(struct hd_run *run, const struct hd_turn *h, bool complete);
void hd_open_record_close(const struct hd_worker *k, const struct hd_turn *h);

#endif
