/* SPDX-License-Identifier: MIT
 *
 * The open hang that the record names, so that the runner can finish its report when the process is killed.
 * The record has room for one. On the worker thread.
 */
#ifndef HD_OPEN_RECORD_H
#define HD_OPEN_RECORD_H

#include "turn/turn.h"
#include "watch/run.h"

/* Call before the report is written: the record is then true if the process dies during the write. Makes the
 * record name this hang, unless the record names one that goes before it. Counts a complete hang. */
void hd_open_record_update(struct hd_run *run, const struct hd_turn *turn, bool complete);

/* The hang's complete report is on disk, or is suppressed: the record names another open hang. */
void hd_open_record_close(struct hd_run *run, const struct hd_turns *turns, const struct hd_turn *turn);

#endif
