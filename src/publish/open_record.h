/* SPDX-License-Identifier: MIT
 *
 * The open hang that the record names, so that the runner can finish its report when the process is killed.
 * The record has room for one. Worker.
 */
#ifndef HD_OPEN_RECORD_H
#define HD_OPEN_RECORD_H

#include "turn/turn.h"
#include "watch/run.h"

/* Call before the report is written: if the process dies in the write, the record is true. Names this hang,
 * or keeps another one; a complete hang is counted. */
void hd_open_record_update(struct hd_run *run, const struct hd_turn *turn, bool complete);

/* The hang's complete report is on disk, or is suppressed: the record names another open hang. */
void hd_open_record_close(struct hd_run *run, const struct hd_turns *turns, const struct hd_turn *turn);

#endif
