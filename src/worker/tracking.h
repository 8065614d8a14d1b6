/* SPDX-License-Identifier: MIT
 *
 * Starts to follow the turn that the monitor's message HD_MSG_TRACK is about. On the worker thread.
 */
#ifndef HD_WORKER_TRACKING_H
#define HD_WORKER_TRACKING_H

#include "turn/turn.h"
#include "watch/run.h"

/* Adds a turn to `turns`. Fills it from the message, from the turn's loop, and from the counters of the
 * process and its control group. NULL: the worker follows HD_TURNS_MAX turns already. */
struct hd_turn *hd_tracking_start(struct hd_turns *turns, const struct hd_run *run,
                                  const struct hd_probe_context *probe, const struct hd_message *msg);

/* True: the turn is over. The worker may then have read what belongs to the thread's next turn, if it has
 * just read the thread's memory. */
bool hd_tracking_is_over(const struct hd_run *run, const struct hd_turn *turn);

#endif
