/* SPDX-License-Identifier: MIT
 *
 * Stores an open hang in the record. If the process is killed, the runner finishes the report of this hang
 * by the record. The record has space for only one hang. On the worker thread.
 */
#ifndef HD_OPEN_RECORD_H
#define HD_OPEN_RECORD_H

#include "turn/turn.h"
#include "watch/run.h"

/* Call it before the report is written, so that the record is correct even if the process dies during the
 * write. If not `complete`, stores the hang in the record if the record has no hang. A hang that is not a
 * launch also replaces a launch. If `complete`, marks the hang as ended if the record has it, and adds it to
 * the record's totals. */
void hd_open_record_update(struct hd_run *run, const struct hd_turn *turn, bool complete);

/* Call it once the hang's complete report is on disk, or is suppressed or withdrawn. If the record has this
 * hang, replaces it by another open hang, or by no hang. */
void hd_open_record_close(struct hd_run *run, const struct hd_turns *turns, const struct hd_turn *turn);

#endif
